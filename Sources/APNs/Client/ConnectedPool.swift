internal import HTTP2
internal import Lifecycle

/// A `Pool` with its connections: does what the pool decides, and tells it what happens.
final class ConnectedPool {
    /// What a connection is bound to.
    struct Key: Hashable {
        let endpoint: Endpoint
        let profile: PushProfile
        let isSuspect: Bool
    }

    let key: Key
    let index: Int32
    let client: APNsClient
    let answerBytesMax: Int
    var pool: Pool
    var parcels: [Parcel] = []
    var connections: [PushConnection] = []
    var bearer: ProviderBearer?
    /// Why there is no connection, until there is one that works.
    var trouble: String?

    private var line = PushLine()

    init(_ key: Key, index: Int32, _ settings: PoolSettings, answerBytesMax: Int, client: APNsClient) {
        self.key = key
        self.index = index
        self.client = client
        self.answerBytesMax = answerBytesMax
        pool = Pool(settings, seed: UInt64.random(in: .min ... .max))
        refreshBearer()
    }

    var settings: PoolSettings { pool.settings }
    private var now: Instant { client.loop.now }

    // MARK: Pushes

    /// - Parameter token: its bytes, empty where the path is fixed.
    func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, deadline: Instant,
        completion: ((PushOutcome, PushDetails?) -> Void)? = nil
    ) -> PoolTicket? {
        guard let ticket = pool.submit(deadline: deadline, at: now) else { return nil }
        let slot = Int(ticket.index)
        while parcels.count <= slot { parcels.append(Parcel()) }
        parcels[slot].begin(template, token, id, tag, deadline: deadline, at: now, completion)
        flush()
        return ticket
    }

    /// Takes back a push that has not left.
    func withdraw(_ ticket: PoolTicket) -> Bool {
        guard pool.isCurrent(ticket) else { return false }
        let slot = Int(ticket.index)
        if pool.withdraw(ticket) {
            client.ended(self, slot, .withdrawn)
            return true
        }
        guard let request = parcels[slot].request,
            let connection = connections.first(where: { $0.number == pool.connection(of: ticket) }),
            connection.session.withdraw(request)
        else { return false }
        takeOutcomes(of: connection)
        connection.wantsToSend()
        return true
    }

    /// Sends what has a connection to go over.
    func flush() {
        guard pool.isWorkWaiting else { return }
        guard let bearer else { return endWithoutKey() }
        while let next = pool.nextSend(at: now) {
            guard let connection = connections.first(where: { $0.number == next.connection }) else {
                preconditionFailure("a pool sends over what is there")
            }
            if send(next.ticket, over: connection, bearer) {
                connection.wantsToSend()
            } else {
                pool.notTaken(next.ticket)
            }
        }
        if pool.isWorkWaiting { client.wantsGrowth(self) }
    }

    private func send(
        _ ticket: PoolTicket, over connection: PushConnection, _ bearer: ProviderBearer
    ) -> Bool {
        let parcel = parcels[Int(ticket.index)]
        guard let template = parcel.template else { preconditionFailure("an open push has its template") }
        let path = line.write(template.kind, parcel.token.span, parcel.id)
        let request = connection.session.submit(
            template.request(bearer), path: line.bytes.span.extracting(path),
            varying: line.bytes.span.extracting(PushLine.id), body: template.body, tag: ticket.tag,
            deadline: parcel.deadline)
        guard let request else { return false }
        parcels[Int(ticket.index)].left(request, bearer)
        return true
    }

    /// Without a key nothing can be sent, and waiting would not help.
    private func endWithoutKey() {
        for ticket in pool.takeWaiting() {
            client.ended(self, Int(ticket.index), .notProcessed(.noProviderKey))
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
        pool.tick(at: now) { mayConnect(isFirst: $0) }
        act()
        flush()
    }

    func grow() {
        pool.grow(at: now) { mayConnect(isFirst: $0) }
        act()
    }

    private func mayConnect(isFirst: Bool) -> Bool {
        bearer != nil && client.provider.mayConnect(to: key.endpoint.host, isFirst: isFirst, at: now)
    }

    /// The present token; connections that were opened with another key are over.
    func refreshBearer() {
        let fresh = client.provider.tokens.bearer(key.profile.key, at: now)
        if let bearer, fresh?.keyRevision != bearer.keyRevision { pool.retireAll(at: now) }
        bearer = fresh
    }

    func shutDown() {
        pool.shutDown(at: now)
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
            case .end(let ticket, let end): client.ended(self, Int(ticket.index), end)
            }
        }
    }

    private func connection(_ number: UInt32) -> PushConnection? {
        connections.first { $0.number == number }
    }
}
