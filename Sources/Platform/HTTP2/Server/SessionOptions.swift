internal import CNghttp2

/// The options with which a server session creates its `nghttp2_session`.
struct SessionOptions {
    var controlAcksMax: Int
    var settingsEntriesMax: Int
    var continuationsMax: Int
    /// Whether nghttp2 leaves WINDOW_UPDATE to `ServerSession`, which can then hold windows back.
    var leavesWindowsToOwner = false
    /// Streams that a client may reset, at once and per second, before the session ends.
    var resets: (burst: Int, perSecond: Int)?

    /// Creates nghttp2's options. The caller must delete them.
    func make() -> OpaquePointer {
        var option: OpaquePointer?
        unsafe nghttp2_option_new(&option)
        guard let option = unsafe option else { preconditionFailure("out of memory") }
        // nghttp2 would keep closed streams only for the priorities of RFC 7540, which are not used here.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        unsafe nghttp2_option_set_max_outbound_ack(option, controlAcksMax)
        unsafe nghttp2_option_set_max_settings(option, settingsEntriesMax)
        unsafe nghttp2_option_set_max_continuations(option, continuationsMax)
        unsafe nghttp2_option_set_no_auto_window_update(option, leavesWindowsToOwner ? 1 : 0)
        if let resets {
            unsafe nghttp2_option_set_stream_reset_rate_limit(
                option, UInt64(resets.burst), UInt64(resets.perSecond))
        }
        return unsafe option
    }
}
