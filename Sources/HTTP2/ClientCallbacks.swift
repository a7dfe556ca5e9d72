internal import CNghttp2

// nghttp2 calls these within `receive` and `pull`, with the session as `user`, which is alive then:
// nothing is retained.

private func with<R>(_ user: UnsafeMutableRawPointer?, _ body: (ClientSession) -> R) -> R {
    unsafe Unmanaged<ClientSession>.fromOpaque(user!)._withUnsafeGuaranteedRef(body)
}

func installClientCallbacks(_ callbacks: OpaquePointer) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
        unsafe with(user) { unsafe $0.headersBegin(frame!) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _, _, name, nameCount, value, valueCount, _, user in
        unsafe with(user) { unsafe $0.header(name!, count: nameCount, value: value!, count: valueCount) }
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        _, _, stream, bytes, count, user in
        unsafe with(user) { unsafe $0.data(of: stream, bytes!, count: count) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
        unsafe with(user) { unsafe $0.received(frame!) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, user in
        unsafe with(user) { unsafe $0.willSend(frame!) }
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
        unsafe with(user) { client in
            guard let slot = unsafe client.slot(of: stream) else { return }
            unsafe client.streamClosed(slot, ErrorCode(rawValue: code))
        }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks) {
        _, frame, header, count, source, user in
        unsafe with(user) { client in
            unsafe client.sendBody(of: source!.pointee.ptr, header: header!, count: count)
        }
    }
}

func readRequestBody(
    _: OpaquePointer?, _: Int32, _: UnsafeMutablePointer<UInt8>?, _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ user: UnsafeMutableRawPointer?
) -> Int {
    unsafe with(user) { client in
        let slot = unsafe source!.pointee.ptr.assumingMemoryBound(to: RequestSlot.self)
        return unsafe client.bodyBytes(of: slot, room: room, flags: flags!)
    }
}
