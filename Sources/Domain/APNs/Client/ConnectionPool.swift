internal import HTTP2
internal import Lifecycle

/// The connections and pushes of one app in one environment. Its `PoolStateMachine` decides. The pool reports
/// events to the state machine, carries out its actions, and sends requests over the connections.
final class ConnectionPool {
    /// The identity of a pool in its client. Each purpose has its own pool, with its own limits.
    struct Key: Hashable {
        enum Purpose: Hashable {
            case pushes(PushConnections)
            case channelManagement

            /// The name in the log.
            var name: String {
                switch self {
                case .pushes(let connections): connections.rawValue
                case .channelManagement: "channel_management"
                }
            }
        }

        let endpoint: Endpoint
        let profile: PushProfile
        let purpose: Purpose
    }

    let key: Key
    /// Number of the pool in the connect budget, unique in the process.
    private let requesterID: UInt64
    let client: APNsClient
    /// Limit on the bytes of an answer's body.
    let answerBytesMax: Int

    // Exclusivity is unchecked for some fields below, because every push accesses them several times. Only one thread
    // does, and no call made during an access uses them again.

    @safe @exclusivity(unchecked) var stateMachine: PoolStateMachine
    /// The pushes, by the slot of their `PoolTicket`.
    let pushes = PushTable()
    var connections: [PushConnection] = []
    /// The current provider token. Nil without a key.
    @safe @exclusivity(unchecked) var bearer: BearerToken?
    /// The reason why no connection could be opened. Nil once a connection works.
    @safe @exclusivity(unchecked) var connectFailure: String?
    /// Time of the next tick.
    var tickAt: Instant
    /// Time at which a template was last made for the pool.
    var lastTemplateAt: Instant
    /// Whether the client's `PoolDirectory` has the pool. A template that still refers to an expired pool looks up the
    /// new one.
    var isListed = false

    private let pathBuffer = PushPathBuffer()
    /// Number of pushes taken since the last `flush`.
    @safe @exclusivity(unchecked) private var unflushedPushes = 0
    @safe @exclusivity(unchecked) private var isFlushRequested = false

    /// Limit on `unflushedPushes`. At the limit the pool flushes before the end of the iteration. A flush looks up the
    /// provider token and the connection once for all its pushes.
    private static let unflushedPushesMax = 32

    init(key: Key, settings: PoolSettings, answerBytesMax: Int, client: APNsClient) {
        self.key = key
        self.client = client
        self.answerBytesMax = answerBytesMax
        requesterID = client.provider.nextRequesterID()
        stateMachine = PoolStateMachine(settings: settings, seed: UInt64.random(in: .min ... .max))
        tickAt = client.loop.now
        lastTemplateAt = client.loop.now
        refreshBearer()
    }

    var settings: PoolSettings { stateMachine.settings }
    private var now: Instant { client.loop.now }

    // MARK: Pushes

    /// Takes a push. It is sent at the end of the iteration, or earlier with a batch of pushes.
    ///
    /// - Parameter token: the bytes of the token, empty if the path is fixed.
    func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, deadlines: PushDeadlines,
        completion: ((PushOutcome, PushDetails?) -> Void)? = nil
    ) throws(PushRefusal) {
        if bearer == nil { refreshBearer() }
        guard bearer != nil else { throw .noProviderKey }
        let now = now
        let ticket = try stateMachine.submit(
            sendBy: deadlines.sendBy, attempts: deadlines.attempts, at: now)
        let entry = unsafe pushes.occupy(slot: Int(ticket.index), token: token)
        unsafe entry.pointee.begin(
            with: template, id: id, tag: tag, within: deadlines, at: now, then: completion)
        requestFlush()
        unflushedPushes += 1
        // A small pool has to flush before its queue is full.
        if unflushedPushes >= min(ConnectionPool.unflushedPushesMax, settings.waitingMax) { flush() }
    }

    /// Withdraws all pushes that were not fully sent.
    func withdrawAll() {
        for ticket in stateMachine.takeWaiting() {
            client.reportEnded(in: self, slot: Int(ticket.index), end: .withdrawn)
        }
        for connection in connections where connection.session.openRequestCount > 0 {
            connection.session.withdrawAll()
            handleOutcomes(of: connection)
            connection.scheduleSend()
        }
    }

    // MARK: Sending

    /// Requests a flush at the end of the iteration.
    func requestFlush() {
        guard !isFlushRequested else { return }
        isFlushRequested = true
        client.requestFlush(of: self)
    }

    /// Ends the iteration: handles the outcomes that are left and sends the waiting pushes.
    func endIteration() {
        isFlushRequested = false
        for connection in connections { handleOutcomes(of: connection) }
        flush()
    }

    /// Sends the waiting pushes for which a connection has a free stream.
    func flush() {
        unflushedPushes = 0
        guard stateMachine.hasQueuedRequests else { return }
        guard let bearer else { return endWaitingWithoutKey() }
        var next = stateMachine.nextSend(at: now)
        while let first = next {
            guard let connection = connection(numbered: first.connection) else {
                preconditionFailure("the state machine chose a connection that does not exist")
            }
            connection.scheduleSend()
            next = sendConsecutive(from: first, over: connection, by: bearer)
        }
        performActions()
        if stateMachine.hasQueuedRequests { client.requestGrowth(of: self) }
    }

    /// Sends consecutive requests over one connection. Returns the first request that uses another connection; nil if
    /// no more requests can be sent now.
    private func sendConsecutive(
        from first: PoolStateMachine.Assignment, over connection: PushConnection, by bearer: BearerToken
    ) -> PoolStateMachine.Assignment? {
        var next: PoolStateMachine.Assignment? = first
        while let assignment = next, assignment.connection == connection.number {
            guard let template = unsafe pushes[Int(assignment.ticket.index)].pointee.template else {
                preconditionFailure("an open push has no template")
            }
            next = sendRun(of: template, from: assignment, over: connection, by: bearer)
        }
        return next
    }

    /// Sends consecutive requests with one template over one connection. Neighbors nearly always have the same
    /// template, so its parts are looked up once. Returns the first request that has another template or uses another
    /// connection; nil if no more requests can be sent now.
    private func sendRun(
        of template: PushTemplate, from first: PoolStateMachine.Assignment, over connection: PushConnection,
        by bearer: BearerToken
    ) -> PoolStateMachine.Assignment? {
        let now = now
        let (request, body) = (template.request(with: bearer), template.body)
        var next = first
        while true {
            if !send(next.ticket, of: template, as: request, body: body, over: connection, by: bearer) {
                // The connection takes no requests until its next event, so the next assignment names another one.
                stateMachine.requeueUnsent(next.ticket)
            }
            guard let following = stateMachine.nextSend(at: now) else { return nil }
            let isInRun =
                unsafe following.connection == connection.number
                && pushes[Int(following.ticket.index)].pointee.uses(template)
            guard isInRun else { return following }
            next = following
        }
    }

    /// Passes one push to the session of a connection. Returns false if the connection is full.
    private func send(
        _ ticket: PoolTicket, of template: PushTemplate, as request: RequestTemplate, body: SharedBody?,
        over connection: PushConnection, by bearer: BearerToken
    ) -> Bool {
        let slot = Int(ticket.index)
        let entry = unsafe pushes[slot]
        let text = unsafe pathBuffer.write(
            template.pathKind, token: pushes.token(inSlot: slot), id: entry.pointee.id)
        let requestID = unsafe connection.submit(
            request, path: text.path.span, varying: text.id.span, body: body, tag: ticket.tag,
            sendBy: unsafe entry.pointee.sendBy,
            deadline: unsafe entry.pointee.deadline)
        guard requestID != nil else { return false }
        unsafe entry.pointee.markSent(with: bearer)
        return true
    }

    /// Ends the waiting pushes. Without a key no push can be sent, and waiting does not help.
    private func endWaitingWithoutKey() {
        for ticket in stateMachine.takeWaiting() {
            client.reportEnded(in: self, slot: Int(ticket.index), end: .notProcessed(.noProviderKey))
        }
    }

    // MARK: Time

    /// Ends expired requests, opens and closes connections, and fetches a newer provider token. The client
    /// calls it at `tickAt`.
    func tick() {
        refreshBearer()
        for connection in connections where connection.session.openRequestCount > 0 {
            connection.session.endExpiredRequests(at: now)
            handleOutcomes(of: connection)
            if connection.session.wantsToSend { connection.scheduleSend() }
        }
        stateMachine.tick(at: now) { takeConnectPermit(for: $0) }
        performActions()
        flush()
    }

    /// Opens a connection if requests wait for one.
    func grow() {
        stateMachine.grow(at: now) { takeConnectPermit(for: $0) }
        performActions()
    }

    /// Takes a permit for one connection from the pool's budget. Returns false if the pool must ask again later,
    /// or has no provider token.
    private func takeConnectPermit(for request: ConnectRequest) -> Bool {
        bearer != nil
            && client.provider.takeConnectPermit(
                for: key, requesterID: requesterID, request: request, at: now)
    }

    /// Whether no request and no connection exists, and the pool was not used for a while.
    var isExpired: Bool {
        guard stateMachine.isIdle, stateMachine.connectionCount == 0 else { return false }
        let lastUseAt = max(lastTemplateAt, stateMachine.lastRequestAt ?? lastTemplateAt)
        return now.milliseconds(since: lastUseAt) >= client.provider.settings.idlePoolMilliseconds
    }

    /// Fetches the current provider token. If the key has changed, all connections are retired. They are also retired
    /// if the token was made early, because APNs accepts another token on a connection only every 20 minutes.
    func refreshBearer() {
        let currentBearer = client.provider.tokens.bearer(for: key.profile.key, at: now)
        if let bearer {
            let isOtherKey = currentBearer?.keyRevision != bearer.keyRevision
            let isMadeEarly = currentBearer?.earlyTokenCount != bearer.earlyTokenCount
            if isOtherKey || isMadeEarly { stateMachine.retireAll(at: now) }
        }
        bearer = currentBearer
    }

    // MARK: Stop and actions

    /// Takes no more pushes, and closes each connection when its pushes have ended.
    func stop() {
        stateMachine.stop(at: now)
        performActions()
    }

    /// Closes all connections at once. Their open pushes end as unknown.
    func closeAll() {
        stateMachine.closeAll()
        performActions()
    }

    /// Carries out the actions of the state machine.
    func performActions() {
        for action in stateMachine.takeActions() {
            switch action {
            case .connect(let number):
                let connection = PushConnection(number: number, pool: self)
                connections.append(connection)
                connection.connect(as: client.provider, on: client.loop)
            case .ping(let number): connection(numbered: number)?.ping()
            case .finish(let number): connection(numbered: number)?.finish()
            case .close(let number): connection(numbered: number)?.close()
            case .end(let ticket, let end): client.reportEnded(in: self, slot: Int(ticket.index), end: end)
            case .noLateAnswer(let ticket): client.reportNoLateAnswer(in: self, slot: Int(ticket.index))
            }
        }
    }

    /// Returns the connection with this number. A pool has few, so a search is fast.
    private func connection(numbered number: UInt32) -> PushConnection? {
        connections.first { $0.number == number }
    }
}
