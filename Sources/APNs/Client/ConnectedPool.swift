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

    /// What is sent, beside the pool's own entry for it.
    struct Parcel {
        var template: PushTemplate?
        var path: [UInt8] = []
        var id: [UInt8] = []
        var tag: UInt64 = 0
        var deadline = Instant.distantFuture
        var takenAt = Instant.distantFuture
        var request: RequestID?
        var bearerRevision = 0
        var completion: ((PushOutcome, PushDetails?) -> Void)?
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

    private static let digits: InlineArray<16, UInt8> = [
        0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66,
    ]
    private static let devicePath = Array("/3/device/".utf8)

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
        parcels[slot].template = template
        parcels[slot].tag = tag
        parcels[slot].deadline = deadline
        parcels[slot].takenAt = now
        parcels[slot].completion = completion
        parcels[slot].id.removeAll(keepingCapacity: true)
        id.append(to: &parcels[slot].id)
        ConnectedPool.writePath(template, token, to: &parcels[slot].path)
        flush()
        return ticket
    }

    private static func writePath(_ template: PushTemplate, _ token: Span<UInt8>, to path: inout [UInt8]) {
        path.removeAll(keepingCapacity: true)
        switch template.kind {
        case .fixed(let fixed): path.append(contentsOf: fixed)
        case .device:
            path.append(contentsOf: devicePath)
            append(token, to: &path)
        }
    }

    /// In one piece: this runs per push, and a byte at a time costs as much as its encryption.
    private static func append(_ token: Span<UInt8>, to path: inout [UInt8]) {
        let start = path.count
        path.append(contentsOf: repeatElement(0, count: 2 * token.count))
        unsafe path.withUnsafeMutableBufferPointer { path in
            let digits = digits
            for index in token.indices {
                let byte = token[index]
                unsafe path[start + 2 * index] = digits[Int(byte >> 4)]
                unsafe path[start + 2 * index + 1] = digits[Int(byte & 15)]
            }
        }
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
            let slot = Int(next.ticket.index)
            guard let connection = connections.first(where: { $0.number == next.connection }),
                let template = parcels[slot].template
            else { preconditionFailure("a pool sends over what is there") }
            let path = parcels[slot].path
            let id = parcels[slot].id
            let request = connection.session.submit(
                template.request(bearer), path: path.span, varying: id.span,
                body: template.body, tag: next.ticket.tag, deadline: parcels[slot].deadline)
            guard let request else {
                pool.notTaken(next.ticket)
                continue
            }
            parcels[slot].request = request
            parcels[slot].bearerRevision = bearer.revision
            connection.wantsToSend()
        }
        if pool.isWorkWaiting { client.wantsGrowth(self) }
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
