internal import HTTP2
internal import Lifecycle

/// A `Pool` with its connections. It carries out the pool's actions and passes events to the pool.
final class ConnectedPool {
    /// The endpoint, app and purpose of a pool. Each purpose has its own limits.
    struct Key: Hashable {
        enum Purpose {
            case pushes
            /// Pushes to suspect tokens.
            case suspects
            /// Management of channels.
            case channels
        }

        let endpoint: Endpoint
        let profile: PushProfile
        let purpose: Purpose
    }

    let key: Key
    /// Number of the pool, unique in the client's lifetime.
    let number: Int32
    /// Number of the pool in the connect budget, unique in the process.
    private let asker: UInt64
    let client: APNsClient
    let answerBytesMax: Int
    /// Exclusivity is unchecked, also below. Each push accesses these several times on one thread, and no
    /// call made during an access uses them again.
    @safe @exclusivity(unchecked) var pool: Pool
    let parcels = ParcelTable()
    var connections: [PushConnection] = []
    @safe @exclusivity(unchecked) var bearer: ProviderBearer?
    /// The reason why no connection could be opened. Nil once a connection works.
    @safe @exclusivity(unchecked) var trouble: String?
    /// Time of the next tick.
    var tickAt: Instant
    /// Time at which a template was last made for the pool.
    var wantedAt: Instant
    /// Whether the client's directory contains the pool.
    var isListed = false

    private let line = PushLine()
    /// Number of pushes taken since the last `flush`.
    @safe @exclusivity(unchecked) private var gathered = 0
    @safe @exclusivity(unchecked) private var isFlushWanted = false
    /// Number of pushes that are passed to connections in one batch. A batch looks up the bearer and the
    /// connection once.
    private static let gatheredMax = 32

    init(_ key: Key, number: Int32, _ settings: PoolSettings, answerBytesMax: Int, client: APNsClient) {
        self.key = key
        self.number = number
        self.client = client
        self.answerBytesMax = answerBytesMax
        asker = client.provider.nextAsker()
        pool = Pool(settings, seed: UInt64.random(in: .min ... .max))
        tickAt = client.loop.now
        wantedAt = client.loop.now
        refreshBearer()
    }

    deinit { line.free() }

    var settings: PoolSettings { pool.settings }
    private var now: Instant { client.loop.now }

    // MARK: Pushes

    /// - Parameter token: the bytes of the token, empty if the path is fixed.
    func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, _ limits: PushLimits,
        completion: ((PushOutcome, PushDetails?) -> Void)? = nil
    ) throws(PushRefusal) -> PoolTicket {
        if bearer == nil { refreshBearer() }
        guard bearer != nil else { throw .noProviderKey }
        let now = now
        let ticket = try pool.submit(leaveBy: limits.leaveBy, attempts: limits.attempts, at: now)
        let parcel = unsafe parcels.take(Int(ticket.index), token)
        unsafe parcel.pointee.begin(template, id, tag: tag, within: limits, at: now, then: completion)
        wantsFlush()
        gathered += 1
        if gathered >= min(ConnectedPool.gatheredMax, settings.waitingMax) { flush() }
        return ticket
    }

    /// Withdraws a push that was not fully sent.
    func withdraw(_ ticket: PoolTicket) -> Bool {
        guard pool.isCurrent(ticket) else { return false }
        let slot = Int(ticket.index)
        if pool.withdraw(ticket) {
            client.ended(in: self, slot, .withdrawn)
            return true
        }
        guard let request = unsafe parcels[slot].pointee.request,
            let connection = connections.first(where: { $0.number == pool.connection(of: ticket) }),
            connection.session.withdraw(request)
        else { return false }
        takeOutcomes(of: connection)
        connection.wantsToSend()
        return true
    }

    /// Withdraws all pushes that were not fully sent.
    func withdrawAll() {
        for ticket in pool.takeWaiting() { client.ended(in: self, Int(ticket.index), .withdrawn) }
        for connection in connections where connection.session.openRequests > 0 {
            connection.session.withdrawAll()
            takeOutcomes(of: connection)
            connection.wantsToSend()
        }
    }

    /// Requests a call of `turnEnds`.
    func wantsFlush() {
        guard !isFlushWanted else { return }
        isFlushWanted = true
        client.wantsFlush(self)
    }

    func turnEnds() {
        isFlushWanted = false
        for connection in connections { takeOutcomes(of: connection) }
        flush()
    }

    /// Sends the requests that have a connection.
    func flush() {
        gathered = 0
        guard pool.isWorkWaiting else { return }
        guard let bearer else { return endWithoutKey() }
        var next = pool.nextSend(at: now)
        while let first = next {
            guard let connection = connection(first.connection) else {
                preconditionFailure("the pool chose a connection that does not exist")
            }
            connection.wantsToSend()
            next = send(from: first, over: connection, by: bearer)
        }
        act()
        if pool.isWorkWaiting { client.wantsGrowth(self) }
    }

    /// Sends consecutive requests over one connection. Neighbors nearly always belong to one send, so their
    /// shared parts are looked up once.
    ///
    /// - Returns: the first request that uses another connection.
    private func send(
        from first: Pool.Send, over connection: PushConnection, by bearer: ProviderBearer
    ) -> Pool.Send? {
        let now = now
        var next = first
        while let template = unsafe parcels[Int(next.ticket.index)].pointee.template {
            let (request, body) = (template.request(bearer), template.body)
            repeat {
                if !send(next.ticket, of: template, as: request, body: body, over: connection, by: bearer) {
                    pool.notTaken(next.ticket)
                }
                guard let following = pool.nextSend(at: now) else { return nil }
                guard following.connection == connection.number else { return following }
                next = following
            } while unsafe parcels[Int(next.ticket.index)].pointee.isOf(template)
        }
        preconditionFailure("an open push has no template")
    }

    private func send(
        _ ticket: PoolTicket, of template: PushTemplate, as request: RequestTemplate, body: SharedBody?,
        over connection: PushConnection, by bearer: ProviderBearer
    ) -> Bool {
        let slot = Int(ticket.index)
        let parcel = unsafe parcels[slot]
        let text = unsafe line.write(template.kind, token: parcels.token(slot), id: parcel.pointee.id)
        let sent = unsafe connection.submit(
            request, path: text.path.span, varying: text.id.span, body: body, tag: ticket.tag,
            leaveBy: unsafe parcel.pointee.leaveBy,
            deadline: unsafe parcel.pointee.deadline)
        guard let sent else { return false }
        unsafe parcel.pointee.left(sent, bearer)
        return true
    }

    /// Ends the waiting pushes. Without a key no push can be sent, and waiting does not help.
    private func endWithoutKey() {
        for ticket in pool.takeWaiting() {
            client.ended(in: self, Int(ticket.index), .notProcessed(.noProviderKey))
        }
    }

    // MARK: Time

    func tick() {
        refreshBearer()
        for connection in connections where connection.session.openRequests > 0 {
            connection.session.expire(at: now)
            takeOutcomes(of: connection)
            if connection.session.wantsToSend { connection.wantsToSend() }
        }
        pool.tick(at: now) { mayConnect($0) }
        act()
        flush()
    }

    func grow() {
        pool.grow(at: now) { mayConnect($0) }
        act()
    }

    private func mayConnect(_ ask: ConnectAsk) -> Bool {
        bearer != nil && client.provider.mayConnect(to: key.endpoint.host, for: asker, ask, at: now)
    }

    /// Whether no request and no connection exists, and the pool was not used for a while.
    var isOver: Bool {
        pool.isQuiet && pool.connectionCount == 0
            && now.milliseconds(since: max(wantedAt, pool.usedAt ?? wantedAt))
                >= client.provider.settings.idlePoolMilliseconds
    }

    /// Fetches the current provider token. Connections that were opened with another key are retired. So are
    /// connections that may not yet get another token.
    func refreshBearer() {
        let fresh = client.provider.tokens.bearer(key.profile.key, at: now)
        if let bearer, fresh?.keyRevision != bearer.keyRevision || fresh?.turn != bearer.turn {
            pool.retireAll(at: now)
        }
        bearer = fresh
    }

    func stop() {
        pool.stop(at: now)
        act()
    }

    func closeAll() {
        pool.closeAll()
        act()
    }

    func act() {
        for action in pool.takeActions() {
            switch action {
            case .connect(let number):
                let connection = PushConnection(number, self)
                connections.append(connection)
                connection.connect(client.provider, on: client.loop)
            case .ping(let number): connection(number)?.ping()
            case .finish(let number): connection(number)?.finish()
            case .close(let number): connection(number)?.close()
            case .end(let ticket, let end): client.ended(in: self, Int(ticket.index), end)
            case .lateOver(let ticket): client.lateOver(in: self, Int(ticket.index))
            }
        }
    }

    private func connection(_ number: UInt32) -> PushConnection? {
        connections.first { $0.number == number }
    }
}
