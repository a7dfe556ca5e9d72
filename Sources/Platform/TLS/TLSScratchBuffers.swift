internal import Glibc

/// Memory that a TLS session needs only during a call. All sessions of a thread share it, so that a thousand
/// idle connections hold no buffers. Not Sendable.
///
/// Each of the three buffers is lent to one session at a time. A second session that uses a lent buffer would
/// send bytes of one peer to another, so every use names its session and a wrong one stops the process.
@safe package final class TLSScratchBuffers {
    /// Size of one full TLS record.
    package static let recordBytes = 16 * 1024
    /// Bytes that a record adds to its plaintext: header, content type, tag, explicit nonce.
    private static let recordOverheadMax = 5 + 1 + 16 + 8
    /// Limit on ciphertext before it must be sent, so that one `send` carries many records.
    package static let ciphertextBytes = 256 * 1024

    /// Plaintext to encrypt as one record. The connection lends it while its owner fills it.
    private let record: UnsafeMutableRawBufferPointer
    private var recordLoan = ScratchLoan(of: "record")
    /// Decrypted plaintext. It is delivered when the ciphertext is used up or this buffer is full. The
    /// session lends it until `dropPlaintext`.
    private let plaintext: UnsafeMutableRawBufferPointer
    private var plaintextLoan = ScratchLoan(of: "plaintext")
    /// Ciphertext to send. The session that appends to it holds it until `dropOutgoing`.
    private var ciphertext: UnsafeMutableRawBufferPointer
    private var ciphertextCount = 0
    private var ciphertextLoan = ScratchLoan(of: "ciphertext")

    package init() {
        unsafe record = .allocate(byteCount: TLSScratchBuffers.recordBytes, alignment: 64)
        unsafe plaintext = .allocate(byteCount: 17 * TLSScratchBuffers.recordBytes, alignment: 64)
        let room =
            TLSScratchBuffers.ciphertextBytes + 2
            * (TLSScratchBuffers.recordBytes + TLSScratchBuffers.recordOverheadMax)
        unsafe ciphertext = .allocate(byteCount: room, alignment: 64)
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

    /// Appends ciphertext. The buffer grows only in handshakes with very long certificate chains.
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

    /// Calls the body with the buffer for one record, which no other session can use meanwhile.
    func withRecord<Failure>(
        of session: TLSSession, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        recordLoan.begin(session)
        defer { recordLoan.end(session) }
        try unsafe body(record)
    }

    // MARK: One per thread

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key) { value in
            if let value = unsafe value { unsafe Unmanaged<TLSScratchBuffers>.fromOpaque(value).release() }
        }
        precondition(code == 0, "no thread-specific key left")
        return key
    }()

    /// The scratch of this thread, created at first use and freed when the thread ends.
    package static var forCurrentThread: TLSScratchBuffers {
        if let value = unsafe pthread_getspecific(key) {
            return unsafe Unmanaged<TLSScratchBuffers>.fromOpaque(value).takeUnretainedValue()
        }
        let scratch = TLSScratchBuffers()
        unsafe pthread_setspecific(key, Unmanaged.passRetained(scratch).toOpaque())
        return scratch
    }
}
