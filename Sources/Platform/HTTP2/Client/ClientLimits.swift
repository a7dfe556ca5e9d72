/// The limits of one client session, with the behavior at each limit.
package struct ClientLimits: Sendable {
    /// Open requests, even if the peer allows more. At the limit `submit` returns nil.
    package var streamsMax = 1_000
    /// Open requests before the peer's first SETTINGS. At the limit `submit` returns nil.
    package var streamsBeforeSettings = 1
    /// Requests in the lifetime of the connection, at most `requestsLimit`. At the limit `submit` returns
    /// nil.
    package var requestsMax = requestsLimit
    /// Bytes of an answer's body that are kept. The rest is read and dropped, and `isBodyTruncated` is set.
    package var bodyBytesMax = 4_096
    /// Bytes of one kept header value. A longer value counts as absent.
    package var keptValueBytesMax = 512
    /// Bytes of one answer's header list (names, values, and 32 for each field, as in RFC 9113). A larger
    /// list resets the stream.
    package var headerListBytesMax = 65_536
    /// PING and SETTINGS acknowledgements that wait to be sent. One more ends the session.
    package var controlAcksMax = 256
    /// Entries in one SETTINGS frame. More entries end the session.
    package var settingsEntriesMax = 32
    /// CONTINUATION frames after one HEADERS. More frames end the session.
    package var continuationsMax = 8
    /// The time after a request's deadline in which its answer is still reported, as late. Then the stream is
    /// reset. 0 resets it at the deadline.
    package var lateResponseMilliseconds = 0

    /// A little below the number of streams that a client can open in HTTP/2 (2^30).
    static let requestsLimit = 1_000_000_000

    package init() {}
}
