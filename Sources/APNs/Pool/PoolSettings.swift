/// How one pool of connections behaves; each limit with what happens there.
package struct PoolSettings: Sendable {
    /// Connections that take requests; beyond it requests wait for a free stream.
    package var connectionsMax = 4
    /// Streams this side opens on one connection, whatever the peer allows; then others are used.
    package var streamsPerConnectionMax = 1_000
    /// Requests in the life of one connection, below HTTP/2's 2^30; it is replaced at nine tenths.
    package var requestsPerConnectionMax = 900_000_000
    /// Requests that have not ended; one more is not taken. An app that gets no answers holds no more than this.
    package var requestsMax = 1_000
    /// Requests that wait beyond the streams that are free; one more is not taken. Small: whoever pushes can
    /// still replace what waits with it, and knows better what is worth sending first.
    package var waitingMax = 64
    /// A connection is replaced at an age chosen from this range: Apple wants connections of hours and days.
    package var recycleMilliseconds = 6 * 3_600_000...12 * 3_600_000
    /// Without requests for this long, connections are given up, and none is opened before the next request.
    package var keptMilliseconds = 3_600_000
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
    /// Requests that end without an answer, one after the other, before a connection is retired that says
    /// nothing else: it may answer every PING and work no more. One that never took a request has one.
    package var overduesMax = 10
    /// How long an answer is awaited after the deadline, to be reported as late.
    package var lateAnswerMilliseconds = 10_000
    /// A connection that takes no more requests is closed after so long, finished or not.
    package var retireMilliseconds = 30_000
    /// Where one of eight answers has a status of 5xx the connection's window is halved, once in so long; so
    /// it is by ENHANCE_YOUR_CALM.
    package var fallMilliseconds = 250
    /// Then the window grows by a twentieth of its full width in each of these; after ENHANCE_YOUR_CALM it
    /// rests first.
    package var riseMilliseconds = 1_000
    package var calmMilliseconds = 60_000

    package init() {}

    /// For tokens that are not to be trusted: one connection, given up when it is not needed.
    package var forSuspects: PoolSettings { small(keptMilliseconds: 5 * 60_000) }

    /// For the management of channels: a few requests a minute, which must not wait for pushes.
    package var forChannels: PoolSettings { small(keptMilliseconds: 60_000) }

    private func small(keptMilliseconds: Int) -> PoolSettings {
        var settings = self
        settings.connectionsMax = 1
        settings.keptMilliseconds = min(self.keptMilliseconds, keptMilliseconds)
        return settings
    }
}
