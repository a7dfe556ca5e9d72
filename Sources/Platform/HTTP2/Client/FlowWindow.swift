/// Constants of flow control (RFC 9113, 6.9).
enum FlowWindow {
    /// The initial window of a connection, and of a stream until SETTINGS change it. This side keeps it for
    /// what it receives.
    static let initialBytes = 65_535
    /// The largest window that the protocol allows.
    static let bytesMax = 0x7FFF_FFFF
    /// The number of received bytes after which WINDOW_UPDATE extends the window. The session does not check
    /// that the peer respects the window, because bytes beyond `ClientLimits.bodyBytesMax` are dropped
    /// anyway.
    static let updateThresholdBytes = initialBytes / 2
}
