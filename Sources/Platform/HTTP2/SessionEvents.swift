/// The events of a connection, and not of one stream, since they were last taken. Each field keeps only the
/// newest event, so that a peer cannot make this grow.
package struct SessionEvents: Hashable, Sendable {
    /// The settings that apply after the peer's SETTINGS.
    package var settings: PeerSettings?
    package var goaway: Goaway?
    /// The bytes of the PING that the peer acknowledged.
    package var pong: UInt64?
    package var failure: SessionFailure?

    package var isEmpty: Bool { settings == nil && goaway == nil && pong == nil && failure == nil }
}

/// The limits that the peer sets for this side in its SETTINGS.
package struct PeerSettings: Hashable, Sendable {
    /// Maximum of open streams. 0 is allowed and means that no new stream may be opened now.
    package var concurrentStreamsMax: UInt32
    package var streamWindowBytes: UInt32
    package var frameBytesMax: UInt32
}

/// A GOAWAY frame: the peer ends the connection. It has not processed streams above `lastStream`, and will
/// not. It may still answer the other streams.
package struct Goaway: Hashable, Sendable {
    package var lastStream: Int32
    package var code: HTTP2ErrorCode
    /// The peer's debug data (APNs sends JSON with a `reason`), truncated at `debugBytesMax`.
    package var debug: [UInt8]

    package static let debugBytesMax = 1_024
}
