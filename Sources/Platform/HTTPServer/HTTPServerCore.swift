internal import Lifecycle

/// The state that the connections of a server share.
final class HTTPServerCore: Sendable {
    private struct State {
        /// The clock of each connection.
        var clocks: [ObjectIdentifier: TracedLock<ConnectionClock>] = [:]
        var isStopping = false
        /// The requests between their head and the end of their answer.
        var exchanges = 0
        /// The connections that are suspended until their reply is ready.
        var waits = 0
    }

    static let tooSlow = HTTPResponse.error(503, "too_slow", message: "the answer took too long; try again")
    static let stopping = HTTPResponse.error(503, "stopping", message: "the server is stopping; try again")

    static let bodiesFull: HTTPResponse = {
        var response = HTTPResponse.error(
            503, "bodies_full", message: "this server is receiving too many bodies; try again")
        response.headers.add("Retry-After", "1")
        return response
    }()

    let bodies: BodyRoom
    let routes: HTTPRoutes
    let limits: HTTPLimits
    let metrics: HTTPMetrics?
    private let state = TracedLock(State())

    init(routes: HTTPRoutes, limits: HTTPLimits, metrics: HTTPMetrics?) {
        self.routes = routes
        self.limits = limits
        bodies = BodyRoom(bytesMax: limits.bodiesBytesMax)
        self.metrics = metrics
    }

    var connectionCount: Int { state.withLock { $0.clocks.count } }
    var isStopping: Bool { state.withLock { $0.isStopping } }
    /// Whether no request is between its head and the end of its answer.
    var isQuiet: Bool { state.withLock { $0.exchanges == 0 } }
    var hasWaits: Bool { state.withLock { $0.waits > 0 } }

    func add(_ connection: HTTPConnection) {
        let clock = connection.clock
        state.withLock { $0.clocks[ObjectIdentifier(clock)] = clock }
    }

    func remove(_ connection: HTTPConnection) {
        let clock = connection.clock
        state.withLock { $0.clocks[ObjectIdentifier(clock)] = nil }
    }

    func exchangeBegan() { state.withLock { $0.exchanges += 1 } }
    func exchangeEnded() { state.withLock { $0.exchanges -= 1 } }

    /// Starts a wait. Returns false if the server stops, because then nothing would resume the connection.
    func waitBegan() -> Bool {
        state.withLock { state in
            if !state.isStopping { state.waits += 1 }
            return !state.isStopping
        }
    }

    func waitEnded() { state.withLock { $0.waits -= 1 } }

    func beginStopping() { state.withLock { $0.isStopping = true } }

    /// Ends connections and answers that are past their deadline.
    func checkDeadlines(now: Instant) {
        let clocks = state.withLock { Array($0.clocks.values) }
        for clock in clocks {
            let overdue = clock.withLock { $0.check(now: now, limits: limits) }
            overdue?.fill(Self.tooSlow)
        }
    }

    /// Answers every waiting request with 503.
    func abandonWaits() {
        let clocks = state.withLock { Array($0.clocks.values) }
        for clock in clocks {
            let slot = clock.withLock { clock -> ReplySlot? in
                if case .answering(let slot) = clock.phase { slot } else { nil }
            }
            slot?.fill(Self.stopping)
        }
    }
}
