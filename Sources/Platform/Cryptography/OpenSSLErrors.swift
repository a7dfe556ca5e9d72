internal import COpenSSL

/// OpenSSL's error queue of the current thread. It must be empty before a call whose error is read from it.
package enum OpenSSLErrors {
    package static func clear() { ERR_clear_error() }

    /// Returns the oldest entry, which is the cause, and empties the queue.
    package static func takeFirst() -> (reason: Int32, text: String) {
        let error = ERR_get_error()
        ERR_clear_error()
        guard error != 0 else { return (0, "no reason given") }
        guard let words = unsafe ERR_reason_error_string(error) else {
            return (tls_error_reason(error), "OpenSSL error \(error)")
        }
        return unsafe (tls_error_reason(error), String(cString: words))
    }
}
