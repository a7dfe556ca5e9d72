internal import Glibc

/// The buffers that a TLS session needs only for a short time. All sessions of a thread share them, so that a
/// thousand idle connections hold no buffers. Confined to its thread.
///
/// Each of the three buffers is lent to one session at a time. A second session that used a lent buffer would
/// send bytes of one peer to another. So every use names its session, and a wrong session stops the process.
@safe package final class TLSScratchBuffers {
    /// Size of one full TLS record.
    package static let recordBytes = 16 * 1024
    /// Bytes that a record adds to its plaintext: header, content type, tag, explicit nonce.
    private static let recordOverheadMax = 5 + 1 + 16 + 8
    /// The ciphertext at which records must be sent. So one `send` carries many records.
    package static let ciphertextBytes = 256 * 1024

    /// The plaintext of one read from the socket (256 KiB, 16 records) and of a record that began before it.
    private static let plaintextBytes = 17 * recordBytes

    /// Plaintext to encrypt as one record, lent while the connection's owner fills it.
    private let record: UnsafeMutableRawBufferPointer
    private var recordLoan = ScratchLoan(of: "record")
    /// Decrypted plaintext, lent until the connection's owner has used it (`TLSSession.dropPlaintext`).
    private let plaintext: UnsafeMutableRawBufferPointer
    private var plaintextLoan = ScratchLoan(of: "plaintext")
    /// Ciphertext to send, lent from the first `append` until `dropOutgoing`.
    private var ciphertext: UnsafeMutableRawBufferPointer
    private var ciphertextCount = 0
    private var ciphertextLoan = ScratchLoan(of: "ciphertext")

    package init() {
        unsafe record = .allocate(byteCount: TLSScratchBuffers.recordBytes, alignment: 64)
        unsafe plaintext = .allocate(byteCount: TLSScratchBuffers.plaintextBytes, alignment: 64)
        // The last record may begin just below the limit, and an alert may follow it.
        let capacity =
            TLSScratchBuffers.ciphertextBytes + 2
            * (TLSScratchBuffers.recordBytes + TLSScratchBuffers.recordOverheadMax)
        unsafe ciphertext = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit {
        unsafe record.deallocate()
        unsafe plaintext.deallocate()
        unsafe ciphertext.deallocate()
    }

    // MARK: Ciphertext

    /// Returns the session's ciphertext that waits to be sent. Call `dropOutgoing` after sending it.
    func outgoing(of session: TLSSession) -> UnsafeRawBufferPointer {
        ciphertextLoan.check(session)
        return unsafe UnsafeRawBufferPointer(rebasing: ciphertext[..<ciphertextCount])
    }

    func dropOutgoing(of session: TLSSession) {
        ciphertextLoan.end(session)
        ciphertextCount = 0
    }

    var isFull: Bool { ciphertextCount >= TLSScratchBuffers.ciphertextBytes }

    /// Appends ciphertext. The buffer grows only in a handshake with a very long certificate chain.
    func append(_ bytes: UnsafeRawBufferPointer, of session: TLSSession) {
        ciphertextLoan.begin(session)
        if unsafe ciphertextCount + bytes.count > ciphertext.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: 2 * (ciphertextCount + bytes.count), alignment: 64)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: ciphertext[..<ciphertextCount]))
            unsafe ciphertext.deallocate()
            unsafe ciphertext = larger
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: ciphertext[ciphertextCount...]).copyMemory(from: bytes)
        ciphertextCount += bytes.count
    }

    // MARK: Plaintext

    /// Lends the buffer for decrypted plaintext to the session, until `endPlaintext`.
    func lendPlaintext(to session: TLSSession) -> UnsafeMutableRawBufferPointer {
        plaintextLoan.begin(session)
        return unsafe plaintext
    }

    func endPlaintext(of session: TLSSession) { plaintextLoan.end(session) }

    /// Lends the buffer for one record during the call of `body`.
    func withRecord<Failure>(
        of session: TLSSession, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        recordLoan.begin(session)
        defer { recordLoan.end(session) }
        try unsafe body(record)
    }

    // MARK: The buffers of a thread

    /// The thread-specific value that retains the thread's buffers.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key) { value in
            if let value = unsafe value { unsafe Unmanaged<TLSScratchBuffers>.fromOpaque(value).release() }
        }
        precondition(code == 0, "no thread-specific key left")
        return key
    }()

    /// The buffers of the current thread, created at first use and freed when the thread ends.
    package static var forCurrentThread: TLSScratchBuffers {
        if let value = unsafe pthread_getspecific(key) {
            return unsafe Unmanaged<TLSScratchBuffers>.fromOpaque(value).takeUnretainedValue()
        }
        let scratch = TLSScratchBuffers()
        unsafe pthread_setspecific(key, Unmanaged.passRetained(scratch).toOpaque())
        return scratch
    }
}
