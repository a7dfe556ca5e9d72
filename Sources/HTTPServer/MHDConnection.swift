internal import CMicroHTTPD

/// libmicrohttpd's handle of a connection; borrowed for one callback, except while it is suspended.
@safe struct MHDConnection: Sendable {
    /// A suspended connection stays where it is until it is resumed, and resuming is what other threads do with it,
    /// once.
    nonisolated(unsafe) let handle: OpaquePointer

    init(_ handle: OpaquePointer) { unsafe self.handle = handle }

    /// The library forgets the connection; after `resume` it calls the access handler again.
    func suspend() { unsafe MHD_suspend_connection(handle) }
    func resume() { unsafe MHD_resume_connection(handle) }

    /// Bytes of the request's head.
    var headBytes: Int { unsafe mhd_head_bytes(handle) }

    /// Hands over an answer, which is copied and sent; false when the connection must end instead.
    func queue(_ response: HTTPResponse, closes: Bool) -> Bool {
        let made = unsafe response.body.withUnsafeBytes { bytes in
            // The library takes a mutable pointer, and copies.
            unsafe MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), mhd_copy)
        }
        guard let made = unsafe made else { return false }
        defer { unsafe MHD_destroy_response(made) }
        for line in response.headers.lines {
            // It refuses what would break the head, such as a line feed; then the line is left out.
            _ = unsafe MHD_add_response_header(made, line.name, line.value)
        }
        if closes { _ = unsafe MHD_add_response_header(made, "Connection", "close") }
        return unsafe MHD_queue_response(handle, UInt32(response.status), made) == mhd_yes
    }
}
