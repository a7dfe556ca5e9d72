/// Constants of flow control (RFC 9113, 6.9).
enum FlowWindow {
    /// Initial window of a connection, and of a stream until SETTINGS change it. This side never changes it.
    static let initialBytes = 65_535
    static let bytesMax = 0x7FFF_FFFF
    /// Number of received bytes after which the window is extended, half of the window. Whether the peer
    /// respects the window is not checked: excess bytes are read and dropped like the rest.
    static let updateThresholdBytes = initialBytes / 2
}
