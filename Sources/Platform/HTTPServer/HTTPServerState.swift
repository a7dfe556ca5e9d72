internal import Lifecycle

/// The state that the connections of a server share.
final class HTTPServerState: Sendable {
    private struct ConnectionsState {
        /// The clock of each connection.
        var clocks: [ObjectIdentifier: TracedLock<ConnectionDeadlines>] = [:]
        var isStopping = false
        /// The requests between their head and the end of their answer.
        var exchanges = 0
        /// The connections that are suspended until their reply is ready.
        var waits = 0
    }

    static let tooSlow = HTTPResponse.error(
        status: 503, code: "too_slow", message: "the answer took too long; try again")
    static let stopping = HTTPResponse.error(
        status: 503, code: "stopping", message: "the server is stopping; try again")

    static let bodiesFull: HTTPResponse = {
        var response = HTTPResponse.error(
            status: 503, code: "bodies_full", message: "this server is receiving too many bodies; try again")
        response.headers.add("Retry-After", value: "1")
        return response
    }()

    let bodyBudget: BodyMemoryBudget
    let routes: HTTPRoutes
    let limits: HTTPLimits
    let metrics: HTTPMetrics?
    private let state = TracedLock(ConnectionsState())

    init(routes: HTTPRoutes, limits: HTTPLimits, metrics: HTTPMetrics?) {
        self.routes = routes
        self.limits = limits
        bodyBudget = BodyMemoryBudget(bytesMax: limits.bodiesBytesMax)
        self.metrics = metrics
    }

    var connectionCount: Int { state.withLock { $0.clocks.count } }
    var isStopping: Bool { state.withLock { $0.isStopping } }
    /// Whether no request is between its head and the end of its answer.
    var isIdle: Bool { state.withLock { $0.exchanges == 0 } }
    var hasSuspendedConnections: Bool { state.withLock { $0.waits > 0 } }

    func add(_ connection: HTTPConnection) {
        let clock = connection.deadlines
        state.withLock { $0.clocks[ObjectIdentifier(clock)] = clock }
    }

    func remove(_ connection: HTTPConnection) {
        let clock = connection.deadlines
        state.withLock { $0.clocks[ObjectIdentifier(clock)] = nil }
    }

    func beginExchange() { state.withLock { $0.exchanges += 1 } }
    func endExchange() { state.withLock { $0.exchanges -= 1 } }

    /// Starts a wait. Returns false if the server stops, because then nothing would resume the connection.
    func beginWait() -> Bool {
        state.withLock { state in
            if !state.isStopping { state.waits += 1 }
            return !state.isStopping
        }
    }

    func endWait() { state.withLock { $0.waits -= 1 } }

    func beginStopping() { state.withLock { $0.isStopping = true } }

    /// Ends connections and answers that are past their deadline.
    func checkDeadlines(now: Instant) {
        let clocks = state.withLock { Array($0.clocks.values) }
        for clock in clocks {
            let overdue = clock.withLock { $0.cutIfOverdue(now: now, limits: limits) }
            overdue?.fill(with: Self.tooSlow)
        }
    }

    /// Answers every waiting request with 503.
    func answerSuspendedConnections() {
        let clocks = state.withLock { Array($0.clocks.values) }
        for clock in clocks {
            let slot = clock.withLock { clock -> ReplySlot? in
                if case .answering(let slot) = clock.phase { slot } else { nil }
            }
            slot?.fill(with: Self.stopping)
        }
    }
}
