internal import HTTP2
internal import Lifecycle

/// A `Pool` with its connections: does what the pool decides, and tells it what happens.
final class ConnectedPool {
    /// What a connection is bound to, and for what: each purpose has room of its own.
    struct Key: Hashable {
        enum Purpose {
            case pushes
            /// Pushes to tokens that are not to be trusted.
            case suspects
            /// The management of channels.
            case channels
        }

        let endpoint: Endpoint
        let profile: PushProfile
        let purpose: Purpose
    }

    let key: Key
    /// Unique in the life of the client.
    let number: Int32
    /// Its name in the budget of connects: unique in the process.
    private let asker: UInt64
    let client: APNsClient
    let answerBytesMax: Int
    /// Unchecked, as what follows: pushes touch it many times, on one thread, and no call into it calls back.
    @safe @exclusivity(unchecked) var pool: Pool
    let parcels = ParcelTable()
    var connections: [PushConnection] = []
    @safe @exclusivity(unchecked) var bearer: ProviderBearer?
    /// Why there is no connection, until there is one that works.
    @safe @exclusivity(unchecked) var trouble: String?
    /// When the client looks after it next.
    var tickAt: Instant
    /// When somebody last made a template for it.
    var wantedAt: Instant
    /// The client looks after it.
    var isListed = false

    private let line = PushLine()
    /// Pushes taken since the last `flush`.
    @safe @exclusivity(unchecked) private var gathered = 0
    @safe @exclusivity(unchecked) private var isFlushWanted = false
    /// Pushes go to their connections so many at a time: bearer and connection are looked up once for them.
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

    /// - Parameter token: its bytes, empty where the path is fixed.
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

    /// Takes back a push that has not left.
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

    /// Takes back all that has not left.
    func withdrawAll() {
        for ticket in pool.takeWaiting() { client.ended(in: self, Int(ticket.index), .withdrawn) }
        for connection in connections where connection.session.openRequests > 0 {
            connection.session.withdrawAll()
            takeOutcomes(of: connection)
            connection.wantsToSend()
        }
    }

    /// Asks for `turnEnds`.
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

    /// Sends what has a connection to go over.
    func flush() {
        gathered = 0
        guard pool.isWorkWaiting else { return }
        guard let bearer else { return endWithoutKey() }
        var next = pool.nextSend(at: now)
        while let first = next {
            guard let connection = connection(first.connection) else {
                preconditionFailure("a pool sends over what is there")
            }
            connection.wantsToSend()
            next = send(from: first, over: connection, by: bearer)
        }
        act()
        if pool.isWorkWaiting { client.wantsGrowth(self) }
    }

    /// Sends one after the other over a connection. Neighbours are nearly always of one send, and what they share is
    /// held once.
    ///
    /// - Returns: the first that goes over another one.
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
        preconditionFailure("an open push has its template")
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

    /// Without a key nothing can be sent, and waiting would not help.
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

    /// Nothing is open or connected, and nobody has wanted it for a while.
    var isOver: Bool {
        pool.isQuiet && pool.connectionCount == 0
            && now.milliseconds(since: max(wantedAt, pool.usedAt ?? wantedAt))
                >= client.provider.settings.idlePoolMilliseconds
    }

    /// The present token; connections that were opened with another key are over, and so are those that take no
    /// other token so soon.
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
