/// Settings and limits of one pool of connections.
package struct PoolSettings: Sendable {
    /// Connections that take requests. At the limit, requests wait for a free stream.
    package var connectionsMax = 4
    /// Streams that this side opens on one connection, even if the peer allows more. At the limit, other
    /// connections are used.
    package var streamsPerConnectionMax = 1_000
    /// Requests over one connection in its lifetime, below the 2^30 streams of HTTP/2. The connection is
    /// replaced at nine tenths.
    package var requestsPerConnectionMax = 900_000_000
    /// Requests that have not ended. At the limit, a new request is refused. An app that gets no answers
    /// holds at most this many.
    package var requestsMax = 1_000
    /// Requests that wait beyond the free streams. At the limit, a new request is refused. The limit is small
    /// because the caller can still replace or reorder pushes that it holds itself.
    package var waitingMax = 64
    /// Range from which each connection's maximum age is drawn. Apple wants connections that last hours or
    /// days.
    package var recycleMilliseconds = 6 * 3_600_000...12 * 3_600_000
    /// Time without requests after which connections are closed. The next request opens one again.
    package var idleConnectionMilliseconds = 3_600_000
    /// Time without received bytes after which a connection without open streams gets a PING.
    package var idlePingMilliseconds = 60_000
    /// Time without received bytes after which a connection with open streams gets a PING.
    package var silentPingMilliseconds = 10_000
    /// Time to answer a PING. After it the connection is closed.
    package var pongMilliseconds = 5_000
    /// Time with open streams but without received bytes. After it other connections are preferred, and one
    /// more may be opened.
    package var stallMilliseconds = 1_000
    /// Range of the pause before a request is sent again after REFUSED_STREAM.
    package var refusalPauseMilliseconds = 10...100
    /// Maximum number of times that a request is sent again after REFUSED_STREAM.
    package var refusalsMax = 20
    /// Maximum number of times that a request is sent again over another connection, after an answer that
    /// ends the connection.
    package var connectionSwitchesMax = 3
    /// Range of the limit on the pause after a failed connection. The limit starts at the lower bound and
    /// doubles up to the upper one.
    package var backoffMilliseconds = 500...60_000
    /// Number of consecutive requests without an answer after which a connection is retired. Such a
    /// connection may answer every PING and still do no work. An unauthorized connection carries only one
    /// request, so one is enough.
    package var consecutiveOverduesMax = 10
    /// Time to wait for an answer after the deadline. An answer within this time is reported as late.
    package var lateAnswerMilliseconds = 10_000
    /// Time after which a retired connection is closed, even with open requests.
    package var retireMilliseconds = 30_000
    /// Minimum time between two halvings of a connection's window. It is halved if one in eight answers has a
    /// status of 5xx, and after ENHANCE_YOUR_CALM.
    package var narrowIntervalMilliseconds = 250
    /// Interval at which the window grows by a twentieth of its full width.
    package var widenIntervalMilliseconds = 1_000
    /// Time after ENHANCE_YOUR_CALM before the window grows again.
    package var enhanceYourCalmMilliseconds = 60_000

    package init() {}

    /// Returns the settings of a kind of connections. Those that are not always needed close sooner.
    package func settings(for connections: PushConnections) -> PoolSettings {
        switch connections {
        case .usual: self
        case .unproven: with(connectionsMax: connectionsMax, idleMilliseconds: 5 * 60_000)
        case .suspect: with(connectionsMax: 1, idleMilliseconds: 5 * 60_000)
        }
    }

    /// Settings for channel management: a few requests a minute, which must not wait for pushes.
    package var forChannels: PoolSettings { with(connectionsMax: 1, idleMilliseconds: 60_000) }

    private func with(connectionsMax: Int, idleMilliseconds: Int) -> PoolSettings {
        var settings = self
        settings.connectionsMax = connectionsMax
        settings.idleConnectionMilliseconds = min(idleConnectionMilliseconds, idleMilliseconds)
        return settings
    }
}
