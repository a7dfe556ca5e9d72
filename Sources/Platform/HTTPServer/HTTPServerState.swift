internal import Lifecycle

/// The state that all connections of a server share, on all its threads.
final class HTTPServerState: Sendable {
    private struct ConnectionsState {
        /// The deadlines of each connection.
        var deadlines: [ObjectIdentifier: TracedLock<ConnectionDeadlines>] = [:]
        var isStopping = false
        /// The requests between their head and the end of their answer.
        var exchangeCount = 0
        /// The connections that are suspended until their reply is ready.
        var suspendedCount = 0
    }

    static let tooSlow = HTTPResponse.error(
        status: 503, code: "answer_too_slow", message: "the answer took too long; try again")
    static let stopping = HTTPResponse.error(
        status: 503, code: "stopping", message: "the server is stopping; try again")

    static let bodiesFull = overloaded(
        code: "bodies_full", message: "this server is receiving too many bodies; try again")

    static let answersFull = overloaded(
        code: "answers_full", message: "this server is sending too many answers to slow readers; try again")

    /// Returns the answer while a limit is reached that is soon free again.
    private static func overloaded(code: String, message: String) -> HTTPResponse {
        var response = HTTPResponse.error(status: 503, code: code, message: message)
        response.headers.add("Retry-After", value: "1")
        return response
    }

    let bodyBudget: MemoryBudget
    let answerBudget: MemoryBudget
    let routes: HTTPRoutes
    let limits: HTTPLimits
    let metrics: HTTPMetrics?
    /// Receives a note about each answer, on the server's threads.
    let onAnswer: (@Sendable (HTTPAnswerNote) -> Void)?
    private let state = TracedLock(ConnectionsState())

    init(
        routes: HTTPRoutes, limits: HTTPLimits, metrics: HTTPMetrics?,
        onAnswer: (@Sendable (HTTPAnswerNote) -> Void)? = nil
    ) {
        self.onAnswer = onAnswer
        self.routes = routes
        self.limits = limits
        bodyBudget = MemoryBudget(bytesMax: limits.bodiesBytesMax)
        answerBudget = MemoryBudget(bytesMax: limits.answersBytesMax)
        self.metrics = metrics
    }

    var connectionCount: Int { state.withLock { $0.deadlines.count } }
    var isStopping: Bool { state.withLock { $0.isStopping } }
    /// Whether no request is between its head and the end of its answer.
    var isIdle: Bool { state.withLock { $0.exchangeCount == 0 } }
    var hasSuspendedConnections: Bool { state.withLock { $0.suspendedCount > 0 } }

    func add(_ connection: HTTPConnection) {
        let deadlines = connection.deadlines
        state.withLock { $0.deadlines[ObjectIdentifier(deadlines)] = deadlines }
    }

    func remove(_ connection: HTTPConnection) {
        let deadlines = connection.deadlines
        state.withLock { $0.deadlines[ObjectIdentifier(deadlines)] = nil }
    }

    func beginExchange() { state.withLock { $0.exchangeCount += 1 } }
    func endExchange() { state.withLock { $0.exchangeCount -= 1 } }

    /// Counts a connection that will be suspended. Returns false if the server stops, because then nothing
    /// would resume the connection.
    func beginSuspension() -> Bool {
        state.withLock { state in
            if !state.isStopping { state.suspendedCount += 1 }
            return !state.isStopping
        }
    }

    func endSuspension() { state.withLock { $0.suspendedCount -= 1 } }

    func beginStopping() { state.withLock { $0.isStopping = true } }

    /// Cuts the connections that are past their deadline, and answers requests whose handler is overdue with
    /// 503.
    func checkDeadlines(now: Instant) {
        let allDeadlines = state.withLock { Array($0.deadlines.values) }
        for deadlines in allDeadlines {
            let overdueSlot = deadlines.withLock { $0.enforceDeadline(now: now, limits: limits) }
            overdueSlot?.fill(with: Self.tooSlow)
        }
    }

    /// Answers every waiting request with 503.
    func answerSuspendedConnections() {
        let allDeadlines = state.withLock { Array($0.deadlines.values) }
        for deadlines in allDeadlines {
            let slot = deadlines.withLock { deadlines -> ReplySlot? in
                if case .answering(let slot) = deadlines.phase { slot } else { nil }
            }
            slot?.fill(with: Self.stopping)
        }
    }
}
