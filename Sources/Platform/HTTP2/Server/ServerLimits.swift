/// The limits of one server session, with the behavior at each limit.
package struct ServerLimits: Sendable {
    /// Open streams, announced in SETTINGS. One more stream gets REFUSED_STREAM.
    package var streamsMax = 1_000
    /// Open streams announced at the beginning, if these are fewer. `changeSettings` allows more later.
    package var initialStreamsMax: Int?
    /// Bytes of one request's header list (names, values, and 32 for each field), announced in SETTINGS.
    /// Fields above the limit are dropped, and the request has `areHeadersTruncated`.
    package var headerListBytesMax = 16_384
    /// Bytes of one request's body. The rest is read and dropped, and the request is delivered at once with
    /// `isBodyTruncated`.
    package var bodyBytesMax = 16_384
    // Flow control: the body bytes that a client may send on one stream, and on the connection, before a
    // WINDOW_UPDATE.
    package var streamWindowBytes = 65_535
    package var connectionWindowBytes = 1 << 20
    /// PING and SETTINGS acknowledgements that wait to be sent. One more ends the session.
    package var controlAcksMax = 256
    /// Entries in one SETTINGS frame. More entries end the session.
    package var settingsEntriesMax = 32
    /// CONTINUATION frames after one HEADERS. More frames end the session.
    package var continuationsMax = 8
    // Streams that a client may reset, at once and per second, as a defense against "rapid reset". More end
    // the session.
    package var resetsBurst = 1_000
    package var resetsPerSecond = 200

    package init() {}
}

/// A change of this side's SETTINGS, sent as one frame. A nil value is not changed.
package struct SettingsChange: Sendable {
    /// Maximum of open streams. Streams above `ServerLimits.streamsMax` are still refused.
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
