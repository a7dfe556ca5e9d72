internal import COpenSSL

/// OpenSSL's queue of errors, of which each thread has one. Call `clear` before a call whose error is read,
/// because the queue may hold errors of earlier calls.
package enum OpenSSLErrors {
    package static func clear() { ERR_clear_error() }

    /// Returns the oldest entry, which is the cause, and empties the queue.
    package static func takeFirst() -> (reason: Int32, text: String) {
        let error = ERR_get_error()
        ERR_clear_error()
        guard error != 0 else { return (0, "no reason given") }
        guard let text = unsafe ERR_reason_error_string(error) else {
            return (tls_error_reason(error), "OpenSSL error \(error)")
        }
        return unsafe (tls_error_reason(error), String(cString: text))
    }
}
