internal import CMicroHTTPD

/// libmicrohttpd's handle of a connection (`MHD_Connection`). It is valid during one callback, and while the
/// connection is suspended.
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
        let mhdResponse = unsafe response.body.withUnsafeBytes { bytes in
            // The library takes a mutable pointer but only copies from it.
            unsafe MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), mhd_copy)
        }
        guard let mhdResponse = unsafe mhdResponse else { return false }
        defer { unsafe MHD_destroy_response(mhdResponse) }
        for line in response.headers.lines {
            // The library refuses a header that would break the head, such as one with a line feed. It is
            // then omitted.
            _ = unsafe MHD_add_response_header(mhdResponse, line.name, line.value)
        }
        if closesConnection { _ = unsafe MHD_add_response_header(mhdResponse, "Connection", "close") }
        return unsafe MHD_queue_response(handle, UInt32(response.status), mhdResponse) == mhd_yes
    }
}
