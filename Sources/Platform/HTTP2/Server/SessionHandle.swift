internal import CNghttp2

/// The `nghttp2_session` of one connection, with the memory that it needs. It is freed with this value, and
/// confined to one thread.
@safe struct SessionHandle: ~Copyable {
    let sessionPointer: OpaquePointer
    /// The session's memory. It outlives the session.
    private let memory = SessionAllocator()
    /// Stored behind a pointer, because nghttp2's callback for DATA writes to it while `pull` uses it.
    let output: UnsafeMutablePointer<FrameOutput>

    /// Creates a server session.
    ///
    /// - Parameter install: Sets the callbacks. `setCallbackOwner` must follow, before any of them is called.
    init(options: SessionOptions, install: (OpaquePointer) -> Void) {
        var callbacks: OpaquePointer?
        unsafe nghttp2_session_callbacks_new(&callbacks)
        guard let callbacks = unsafe callbacks else { preconditionFailure("out of memory") }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe install(callbacks)

        let nghttp2Options = unsafe options.make()
        defer { unsafe nghttp2_option_del(nghttp2Options) }
        var session: OpaquePointer?
        var allocator = unsafe memory.callbacks
        let code = unsafe nghttp2_session_server_new3(&session, callbacks, nil, nghttp2Options, &allocator)
        guard code == 0, let session = unsafe session else { preconditionFailure("out of memory") }
        unsafe sessionPointer = session
        unsafe output = .allocate(capacity: 1)
        unsafe output.initialize(to: FrameOutput())
    }

    /// Sets the object that the callbacks receive. It is not retained. It owns this handle and so outlives
    /// it.
    func setCallbackOwner(_ owner: AnyObject) {
        unsafe nghttp2_session_set_user_data(sessionPointer, Unmanaged.passUnretained(owner).toOpaque())
    }

    deinit {
        unsafe nghttp2_session_del(sessionPointer)
        unsafe output.pointee.free()
        unsafe output.deallocate()
    }

    /// Whether nothing more will be read or written.
    var isFinished: Bool {
        unsafe nghttp2_session_want_read(sessionPointer) == 0
            && nghttp2_session_want_write(sessionPointer) == 0
            && output.pointee.isEmpty
    }

    var wantsToSend: Bool {
        unsafe nghttp2_session_want_write(sessionPointer) != 0 || !output.pointee.isEmpty
    }

    /// Passes the peer's bytes to nghttp2, which calls back for their frames.
    func receive(_ bytes: UnsafeRawBufferPointer) -> SessionFailure? {
        let result = unsafe nghttp2_session_mem_recv(
            sessionPointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        return result < 0 ? SessionFailure(library: result) : nil
    }

    /// Fills `buffer` with waiting frames. A frame that does not fit continues in the next call.
    func pull(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, failure: SessionFailure?) {
        unsafe output.pointee.begin(writingTo: buffer)
        while unsafe output.pointee.availableBytes > 0 {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(sessionPointer, &frame)
            guard count > 0, let frame = unsafe frame else {
                return (unsafe output.pointee.finish(), count < 0 ? SessionFailure(library: count) : nil)
            }
            unsafe output.pointee.lend(frame: UnsafeRawBufferPointer(start: frame, count: count))
        }
        return (unsafe output.pointee.finish(), nil)
    }

    func submitPing(payload: UInt64) {
        unsafe withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = unsafe nghttp2_submit_ping(
                sessionPointer, 0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
    }

    func submitSettings(_ entries: [(id: nghttp2_settings_id, value: UInt32)]) {
        let settings = entries.map {
            nghttp2_settings_entry(settings_id: Int32($0.id.rawValue), value: $0.value)
        }
        _ = unsafe nghttp2_submit_settings(sessionPointer, 0, settings, settings.count)
    }

    func submitGoaway(lastStream: Int32, code: HTTP2ErrorCode, debug: [UInt8]) {
        _ = unsafe nghttp2_submit_goaway(sessionPointer, 0, lastStream, code.rawValue, debug, debug.count)
    }

    func submitReset(stream: Int32, code: HTTP2ErrorCode) {
        _ = unsafe nghttp2_submit_rst_stream(sessionPointer, 0, stream, code.rawValue)
    }

    var peerSettings: PeerSettings {
        unsafe PeerSettings(
            concurrentStreamsMax: nghttp2_session_get_remote_settings(
                sessionPointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
            streamWindowBytes: nghttp2_session_get_remote_settings(
                sessionPointer, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE),
            frameBytesMax: nghttp2_session_get_remote_settings(
                sessionPointer, NGHTTP2_SETTINGS_MAX_FRAME_SIZE))
    }
}
