/// Events of the whole session since they were last taken. Each kind keeps only its newest event, so that a
/// peer cannot make this grow.
package struct SessionEvents: Hashable, Sendable {
    /// The settings that apply after the peer's SETTINGS.
    package var settings: PeerSettings?
    package var goaway: Goaway?
    /// The bytes of the PING that the peer acknowledged.
    package var pong: UInt64?
    package var failure: SessionFailure?

    package var isEmpty: Bool { settings == nil && goaway == nil && pong == nil && failure == nil }
}

/// Limits that the peer sets for this side.
package struct PeerSettings: Hashable, Sendable {
    /// Maximum of open streams. 0 is allowed and means that no new stream may be opened now.
    package var concurrentStreamsMax: UInt32
    package var streamWindowBytes: UInt32
    package var frameBytesMax: UInt32
}

/// GOAWAY: the peer ends the connection. It did not and will not process streams above `lastStream`. The
/// other streams end by themselves or with the connection.
package struct Goaway: Hashable, Sendable {
    package var lastStream: Int32
    package var code: HTTP2ErrorCode
    /// The peer's debug data (APNs sends JSON with a `reason`), truncated at `debugBytesMax`.
    package var debug: [UInt8]

    package static let debugBytesMax = 1_024
}
