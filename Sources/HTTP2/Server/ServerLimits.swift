/// What one server session lets a client cost, each with what happens there.
package struct ServerLimits: Sendable {
    /// Streams open at a time, announced in SETTINGS; one more is refused (REFUSED_STREAM).
    package var streamsMax = 1_000
    /// Streams announced at the beginning when that is less: more are allowed by `change` later.
    package var streamsAtFirst: Int?
    /// Bytes of one request's header list (names, values, and 32 for each field), announced; the
    /// fields above it are dropped and the request says `headersAreCut`.
    package var headerListBytesMax = 16_384
    /// Bytes of one request's body; more is read and dropped, the request is handed out at once and
    /// says `bodyIsCut`.
    package var bodyBytesMax = 16_384
    /// Flow control: bytes a client may send ahead on one stream and on the connection; then it waits.
    package var streamWindowBytes = 65_535
    package var connectionWindowBytes = 1 << 20
    /// PING and SETTINGS acknowledgements that wait to be sent; one more ends the session.
    package var controlAcksMax = 256
    /// Entries in one SETTINGS frame; more ends the session.
    package var settingsEntriesMax = 32
    /// CONTINUATION frames after one HEADERS; more ends the session.
    package var continuationsMax = 8
    /// Streams a client may reset, at once and per second ("rapid reset"); more ends the session.
    package var resetsBurst = 1_000
    package var resetsPerSecond = 200

    package init() {}
}

/// A change of what this side allows; what is nil stays as it is. Sent as one SETTINGS frame.
package struct SettingsChange: Sendable {
    /// Above `ServerLimits.streamsMax` it announces more than is served: the rest is refused.
    package var concurrentStreamsMax: UInt32?
    package var streamWindowBytes: UInt32?
    package var frameBytesMax: UInt32?
    package var headerTableBytes: UInt32?

    package init(
        concurrentStreamsMax: UInt32? = nil, streamWindowBytes: UInt32? = nil, frameBytesMax: UInt32? = nil,
        headerTableBytes: UInt32? = nil
    ) {
        self.concurrentStreamsMax = concurrentStreamsMax
        self.streamWindowBytes = streamWindowBytes
        self.frameBytesMax = frameBytesMax
        self.headerTableBytes = headerTableBytes
    }
}
