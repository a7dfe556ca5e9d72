internal import CMicroHTTPD

/// libmicrohttpd's handle of a connection. It is valid for one callback, or while the connection is
/// suspended.
@safe struct MHDConnection: Sendable {
    /// A suspended connection stays valid until it is resumed. Other threads only resume it, once.
    nonisolated(unsafe) let handle: OpaquePointer

    init(handle: OpaquePointer) { unsafe self.handle = handle }

    /// Suspends the connection. After `resume` the library calls the access handler again.
    func suspend() { unsafe MHD_suspend_connection(handle) }
    func resume() { unsafe MHD_resume_connection(handle) }

    /// The size of the request's head in bytes.
    var headBytes: Int { unsafe mhd_head_bytes(handle) }

    /// Queues an answer, which is copied. Returns false if the connection must end instead.
    func queue(_ response: HTTPResponse, closesConnection: Bool) -> Bool {
        let made = unsafe response.body.withUnsafeBytes { bytes in
            // The library takes a mutable pointer but only copies from it.
            unsafe MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), mhd_copy)
        }
        guard let made = unsafe made else { return false }
        defer { unsafe MHD_destroy_response(made) }
        for line in response.headers.lines {
            // The library refuses a header that would break the head, such as one with a line feed. It is
            // then omitted.
            _ = unsafe MHD_add_response_header(made, line.name, line.value)
        }
        if closesConnection { _ = unsafe MHD_add_response_header(made, "Connection", "close") }
        return unsafe MHD_queue_response(handle, UInt32(response.status), made) == mhd_yes
    }
}
