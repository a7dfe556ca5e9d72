/// How one pool of connections behaves; each limit with what happens there.
package struct PoolSettings: Sendable {
    /// Connections that take requests; beyond it requests wait for a free stream.
    package var connectionsMax = 4
    /// Streams this side opens on one connection, whatever the peer allows; then others are used.
    package var streamsPerConnectionMax = 1_000
    /// Requests in the life of one connection, below HTTP/2's 2^30; it is replaced at nine tenths.
    package var requestsPerConnectionMax = 900_000_000
    /// Requests that wait for a stream; one more is not taken.
    package var waitingMax = 1_024
    /// A connection is replaced at an age chosen from this range.
    package var recycleMilliseconds = 30 * 60_000...60 * 60_000
    /// Without requests for this long, a connection that ends is not replaced before the next request.
    package var keptMilliseconds = 30 * 60_000
    /// Nothing read for so long: PING, with no stream open and with streams open.
    package var idlePingMilliseconds = 60_000
    package var silentPingMilliseconds = 10_000
    /// A PING that is not answered in time ends the connection.
    package var pongMilliseconds = 5_000
    /// Streams are open and nothing was read for so long: others are preferred, one more may be opened.
    package var stallMilliseconds = 1_000
    /// REFUSED_STREAM is tried again after a pause from this range, so often; then it is reported.
    package var refusalMilliseconds = 10...100
    package var refusalsMax = 20
    /// An answer that says "this connection is over" is tried again on another one, so often.
    package var movesMax = 3
    /// Pause after a connection that failed: up to the lower bound, doubled each time up to the upper.
    package var backoffMilliseconds = 500...60_000
    /// How long an answer is awaited after the deadline, to be reported as late.
    package var lateAnswerMilliseconds = 10_000
    /// A connection that takes no more requests is closed after so long, finished or not.
    package var retireMilliseconds = 30_000
    /// After ENHANCE_YOUR_CALM the halved window doubles once in so long.
    package var calmMilliseconds = 60_000

    package init() {}

    /// For tokens that are not to be trusted: one connection, given up when it is not needed.
    package var forSuspects: PoolSettings {
        var settings = self
        settings.connectionsMax = 1
        settings.keptMilliseconds = 0
        return settings
    }
}
