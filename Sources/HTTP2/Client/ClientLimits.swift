/// What one client session lets a peer cost, each with what happens there.
package struct ClientLimits: Sendable {
    /// Requests open at a time, whatever the peer allows; then `submit` gives nil.
    package var streamsMax = 1_000
    /// Requests open until the peer's first SETTINGS; then `submit` gives nil.
    package var streamsBeforeSettings = 1
    /// Requests in the life of the connection, below HTTP/2's 2^30; then `submit` gives nil.
    package var requestsMax = 1_000_000_000
    /// Bytes of an answer's body that are kept; more is read and dropped, and `bodyIsCut` says so.
    package var bodyBytesMax = 4_096
    /// Bytes of one kept header value; a longer one counts as absent.
    package var keptValueBytesMax = 512
    /// Bytes of one answer's header list (names, values, and 32 for each field, as RFC 9113 counts);
    /// more resets the stream.
    package var headerListBytesMax = 65_536
    /// PING and SETTINGS acknowledgements that wait to be sent; one more ends the session.
    package var controlAcksMax = 256
    /// Entries in one SETTINGS frame; more ends the session.
    package var settingsEntriesMax = 32
    /// CONTINUATION frames after one HEADERS; more ends the session.
    package var continuationsMax = 8
    /// How long an answer is still awaited after a request's deadline, to be reported as late;
    /// then the stream is reset. 0 resets it at the deadline.
    package var lateAnswerMilliseconds = 0

    package init() {}
}
