internal import COpenSSL

/// The BIO, OpenSSL's name for a byte stream, through which OpenSSL reads and writes the ciphertext of a
/// session. It takes the place of a socket. OpenSSL reads from the input of the session and writes to its
/// scratch memory, with one copy in each direction.
enum SessionBIO {
    /// The BIO method. It is never freed, because BIOs of any session may use it until the process ends.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "session") else {
            return nil
        }
        unsafe BIO_meth_set_write(method, writeToSession)
        unsafe BIO_meth_set_read(method, readFromSession)
        unsafe BIO_meth_set_ctrl(method, controlSession)
        return unsafe method
    }()

    /// Returns a BIO that refers to the session, unretained. The session owns the `SSL`, which owns the BIO.
    static func make(for session: TLSSession) -> OpaquePointer? {
        guard let method = unsafe method, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    fileprivate static func session(of bio: OpaquePointer?) -> TLSSession? {
        guard let data = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
    }
}

private func writeToSession(_ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let session = unsafe SessionBIO.session(of: bio), count > 0 else { return -1 }
    unsafe session.scratch.append(UnsafeRawBufferPointer(start: bytes, count: Int(count)), of: session)
    return count
}

private func readFromSession(_ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int32)
    -> Int32
{
    unsafe tls_bio_clear_retry(bio)
    guard let session = unsafe SessionBIO.session(of: bio), count > 0 else { return -1 }
    let copiedCount = unsafe session.copyInput(
        to: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
    guard copiedCount > 0 else {
        // So the session sees SSL_ERROR_WANT_READ, which is no failure.
        unsafe tls_bio_retry_read(bio)
        return -1
    }
    return Int32(truncatingIfNeeded: copiedCount)
}

/// Accepts a flush, which needs no work because the connection sends the scratch memory. No other command is
/// supported.
private func controlSession(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int { command == BIO_CTRL_FLUSH ? 1 : 0 }
