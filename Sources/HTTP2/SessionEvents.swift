/// What happened to a session as a whole since the events were last taken. One place for each
/// kind, the newest wins, so that no peer can make it grow.
package struct SessionEvents: Hashable, Sendable {
    /// The peer sent SETTINGS; these hold now.
    package var settings: PeerSettings?
    package var goaway: Goaway?
    /// The bytes of the PING that the peer acknowledged.
    package var pong: UInt64?
    package var failure: SessionFailure?

    package var isEmpty: Bool { settings == nil && goaway == nil && pong == nil && failure == nil }
}

/// What the peer allows this side to send.
package struct PeerSettings: Hashable, Sendable {
    /// 0 is allowed and means: no new stream for now.
    package var concurrentStreamsMax: UInt32
    package var streamWindowBytes: UInt32
    package var frameBytesMax: UInt32
}

/// The peer ends the connection. It did not and will not process streams above `lastStream`;
/// what becomes of the others is seen when they end or when the connection does.
package struct Goaway: Hashable, Sendable {
    package var lastStream: Int32
    package var code: ErrorCode
    /// The peer's own words (APNs sends JSON with a `reason`), cut at `debugBytesMax`.
    package var debug: [UInt8]

    package static let debugBytesMax = 1_024
}
