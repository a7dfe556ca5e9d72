internal import CNghttp2

// nghttp2 calls these functions inside `ServerSession.receive` and `pull`, with the session as `user`. The
// session is alive during these calls, so it is not retained.

private func withSession<R>(_ user: UnsafeMutableRawPointer?, body: (ServerSession) -> R) -> R {
    unsafe Unmanaged<ServerSession>.fromOpaque(user!)._withUnsafeGuaranteedRef(body)
}

/// Sets the callbacks of a server session.
func installServerCallbacks(_ callbacks: OpaquePointer) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
        unsafe withSession(user) { unsafe $0.beginHeaders(of: frame!) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _, _, name, nameCount, value, valueCount, _, user in
        unsafe withSession(user) {
            unsafe $0.addHeader(name: name!, count: nameCount, value: value!, count: valueCount)
        }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        _, _, stream, bytes, count, user in
        unsafe withSession(user) { unsafe $0.receiveData(of: stream, bytes: bytes!, count: count) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
        unsafe withSession(user) { unsafe $0.handleReceivedFrame(frame!) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, user in
        unsafe withSession(user) { unsafe $0.willSendFrame(frame!) }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
        unsafe withSession(user) { server in
            if let slot = unsafe server.slot(of: stream) { unsafe server.release(slot: slot) }
        }
        return 0
    }
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks) {
        _, frame, header, count, source, user in
        unsafe withSession(user) { server in
            unsafe server.sendBody(of: source!.pointee.ptr, header: header!, count: count)
        }
    }
}

/// nghttp2's callback for the next DATA frame of an answer. Returns how many body bytes go into it, at most
/// `bytesMax`. Then `sendBody` writes them (NO_COPY).
func readResponseBody(
    _: OpaquePointer?, _: Int32, _: UnsafeMutablePointer<UInt8>?, _ bytesMax: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _: UnsafeMutableRawPointer?
) -> Int {
    let slot = unsafe source!.pointee.ptr.assumingMemoryBound(to: ServerSlot.self)
    let unsentBytes = unsafe slot.pointee.body!.count - slot.pointee.sentBodyBytes
    unsafe flags!.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if unsentBytes <= bytesMax { unsafe flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return min(unsentBytes, bytesMax)
}
