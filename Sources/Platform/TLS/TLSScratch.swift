internal import Glibc

/// Memory that a TLS session needs only during a call. All sessions of a thread share it, so that a thousand
/// idle connections hold no buffers. Not Sendable.
@safe package final class TLSScratch {
    /// Size of one full TLS record.
    package static let recordBytes = 16 * 1024
    /// Bytes that a record adds to its plaintext: header, content type, tag, explicit nonce.
    private static let recordOverheadMax = 5 + 1 + 16 + 8
    /// Limit on ciphertext before it must be sent, so that one `send` carries many records.
    package static let ciphertextBytes = 256 * 1024

    /// Plaintext to encrypt as one record.
    let record: UnsafeMutableRawBufferPointer
    /// Decrypted plaintext. It is delivered when the ciphertext is used up or this buffer is full.
    let plaintext: UnsafeMutableRawBufferPointer
    /// Ciphertext to send.
    private var ciphertext: UnsafeMutableRawBufferPointer
    private var ciphertextCount = 0

    package init() {
        unsafe record = .allocate(byteCount: TLSScratch.recordBytes, alignment: 64)
        unsafe plaintext = .allocate(byteCount: 17 * TLSScratch.recordBytes, alignment: 64)
        let room = TLSScratch.ciphertextBytes + 2 * (TLSScratch.recordBytes + TLSScratch.recordOverheadMax)
        unsafe ciphertext = .allocate(byteCount: room, alignment: 64)
    }

    deinit {
        unsafe record.deallocate()
        unsafe plaintext.deallocate()
        unsafe ciphertext.deallocate()
    }

    /// Ciphertext that waits to be sent. Call `dropOutgoing` after sending it.
    package var outgoing: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: ciphertext[..<ciphertextCount])
    }

    package func dropOutgoing() { ciphertextCount = 0 }

    var isFull: Bool { ciphertextCount >= TLSScratch.ciphertextBytes }

    /// Appends ciphertext. The buffer grows only in handshakes with very long certificate chains.
    func append(_ bytes: UnsafeRawBufferPointer) {
        if unsafe ciphertextCount + bytes.count > ciphertext.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: 2 * (ciphertextCount + bytes.count), alignment: 64)
            unsafe larger.copyMemory(from: outgoing)
            unsafe ciphertext.deallocate()
            unsafe ciphertext = larger
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: ciphertext[ciphertextCount...]).copyMemory(from: bytes)
        ciphertextCount += bytes.count
    }

    // MARK: One per thread

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key) { value in
            if let value = unsafe value { unsafe Unmanaged<TLSScratch>.fromOpaque(value).release() }
        }
        precondition(code == 0, "no thread-specific key left")
        return key
    }()

    /// The scratch of this thread, created at first use and freed when the thread ends.
    package static var ofThisThread: TLSScratch {
        if let value = unsafe pthread_getspecific(key) {
            return unsafe Unmanaged<TLSScratch>.fromOpaque(value).takeUnretainedValue()
        }
        let scratch = TLSScratch()
        unsafe pthread_setspecific(key, Unmanaged.passRetained(scratch).toOpaque())
        return scratch
    }
}
