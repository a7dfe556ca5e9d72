package import HTTP2
internal import JSON
package import Lifecycle
internal import LiveActivity
internal import Telemetry

/// Pushes to APNs from one event loop: pools of connections for each app and environment, and separate
/// ones for tokens that are not to be trusted. No lock, no task and no allocation for a push.
///
/// Push as many as there is `room` for in one turn of the loop: they leave together at its end. What
/// ended in a turn comes in one call. Nothing queues without a limit: `push` says no, and the caller
/// waits for outcomes.
///
/// Pinned to its loop; holds itself until `stop`. `@unchecked Sendable` so that the reference can travel.
package final class APNsClient: TurnHook, @unchecked Sendable {
    package let provider: Provider
    package let loop: EventLoop
    let reader = JSONReader()
    private weak var receiver: (any PushReceiver)?
    private var pools: [ConnectedPool] = []
    private var poolOf: [ConnectedPool.Key: ConnectedPool] = [:]
    private var growing: [ConnectedPool] = []
    private var flushing: [ConnectedPool] = []
    private var flushed: [ConnectedPool] = []
    /// Unchecked, as are the counters: pushes touch them on one thread, and nothing called meanwhile does.
    @safe @exclusivity(unchecked) private var outcomes = PushOutcomes()
    private var lent = PushOutcomes()
    /// Pushes that have not ended.
    @safe @exclusivity(unchecked) package private(set) var open = 0
    private var openTold = 0
    @safe @exclusivity(unchecked) private var latency = LatencyRun()
    @safe @exclusivity(unchecked) private var acceptedCount = 0
    private var timer: LoopTimer?
    @safe @exclusivity(unchecked) private var isHooked = false
    @safe @exclusivity(unchecked) package private(set) var isStopped = false

    /// On the loop.
    package init(_ provider: Provider, on loop: EventLoop, receiver: any PushReceiver) {
        loop.preconditionOnLoop()
        self.provider = provider
        self.loop = loop
        self.receiver = receiver
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
    }

    // MARK: Pushes

    /// How many pushes are taken now, whatever their app.
    package var room: Int { isStopped ? 0 : max(0, provider.settings.requestsMax - open) }

    /// Takes a push, or says no: there is no room, or too much waits for this app.
    ///
    /// - Parameters:
    ///   - token: the bytes of the push token; empty for a broadcast.
    ///   - deadline: when it ends without an answer, if none has come; `unknown` if it had left.
    ///   - isSuspect: the token was never seen to work, or failed the last time.
    package func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, deadline: Instant,
        isSuspect: Bool = false
    ) -> PushHandle? {
        precondition(token.count <= PushToken.bytesMax, "the token is too long")
        precondition(template.pool.client === self, "a template of another client")
        guard room > 0 else { return nil }
        let pool = isSuspect ? template.suspects ?? template.pool : template.pool
        open += 1
        guard let ticket = pool.push(template, token: token, id: id, tag: tag, deadline: deadline) else {
            open -= 1
            return nil
        }
        hook()
        return PushHandle(pool: pool.index, ticket: ticket)
    }

    /// Takes back a push of which no byte has left; its outcome says `withdrawn`. False when it is too late.
    package func withdraw(_ handle: PushHandle) -> Bool { pools[Int(handle.pool)].withdraw(handle.ticket) }

    /// One request whose outcome goes to its caller, not to the receiver.
    func ask(
        _ template: PushTemplate, deadline: Instant,
        _ completion: @escaping (PushOutcome, PushDetails?) -> Void
    )
        -> Bool
    {
        guard room > 0 else { return false }
        open += 1
        let id = PushID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        guard
            template.pool.push(
                template, token: Span(), id: id, tag: 0, deadline: deadline, completion: completion) != nil
        else {
            open -= 1
            return false
        }
        hook()
        return true
    }

    // MARK: Templates

    /// What pushes of one send to tokens have in common.
    package func template(
        _ profile: PushProfile, _ headers: LiveActivityHeaders, body: [UInt8]
    ) throws(HeaderFault) -> PushTemplate {
        let endpoint = provider.settings.hosts(profile.environment).push
        return try PushTemplate(
            .device, headers: headers.fields, body: body, pool: pool(endpoint, profile),
            suspects: pool(endpoint, profile, isSuspect: true))
    }

    /// One broadcast to a channel.
    package func template(
        _ profile: PushProfile, broadcast headers: BroadcastHeaders, body: [UInt8]
    ) throws(HeaderFault) -> PushTemplate {
        let endpoint = provider.settings.hosts(profile.environment).broadcast
        return try PushTemplate(
            .fixed(path: Array("/4/broadcasts/apps/\(profile.bundleID)".utf8)), headers: headers.fields,
            body: body, pool: pool(endpoint, profile))
    }

    func pool(
        _ endpoint: Endpoint, _ profile: PushProfile, isSuspect: Bool = false, answerBytesMax: Int = 4_096
    ) -> ConnectedPool {
        let key = ConnectedPool.Key(endpoint: endpoint, profile: profile, isSuspect: isSuspect)
        if let known = poolOf[key] { return known }
        let settings = isSuspect ? provider.settings.pool.forSuspects : provider.settings.pool
        let pool = ConnectedPool(
            key, index: Int32(pools.count), settings, answerBytesMax: answerBytesMax, client: self)
        pools.append(pool)
        poolOf[key] = pool
        return pool
    }

    /// How it stands with an app: nil before its first template.
    package func health(of profile: PushProfile) -> PoolHealth? {
        let endpoint = provider.settings.hosts(profile.environment).push
        guard let pool = poolOf[ConnectedPool.Key(endpoint: endpoint, profile: profile, isSuspect: false)]
        else { return nil }
        return PoolHealth(
            isWorking: pool.pool.isAuthorised, connections: pool.pool.openConnections, trouble: pool.trouble)
    }

    // MARK: Ends

    func accepted(_ pool: ConnectedPool, _ slot: Int, isLate: Bool) {
        acceptedCount += 1
        settle(pool, slot, isLate: isLate) { $0.appendAccepted(tag: $1, isLate: isLate) }
    }

    func answered(_ pool: ConnectedPool, _ slot: Int, _ details: PushDetails, isLate: Bool) {
        if details.answer.status == 200 {
            acceptedCount += 1
        } else {
            provider.metrics.refused(details.answer)
        }
        settle(pool, slot, isLate: isLate) { $0.append(tag: $1, details, isLate: isLate) }
    }

    func ended(_ pool: ConnectedPool, _ slot: Int, _ end: PushEnd) {
        provider.metrics.ended(end)
        settle(pool, slot, isLate: false, keeps: end == .unknown(.overdue)) { $0.append(tag: $1, end) }
    }

    /// - Parameter keeps: an answer may still come for it.
    private func settle(
        _ pool: ConnectedPool, _ slot: Int, isLate: Bool, keeps: Bool = false,
        _ append: (inout PushOutcomes, UInt64) -> Void
    ) {
        let parcel = unsafe pool.parcels[slot].pointee.ended(keeps: keeps)
        if isLate {
            provider.metrics.late.add()
        } else {
            open -= 1
            latency.add(loop.now.milliseconds(since: parcel.takenAt), to: provider.metrics.seconds)
        }
        if let completion = parcel.completion {
            complete(completion, append)
        } else {
            append(&outcomes, parcel.tag)
        }
        hook()
    }

    private func complete(
        _ completion: Parcel.Completion, _ append: (inout PushOutcomes, UInt64) -> Void
    ) {
        var own = PushOutcomes()
        append(&own, 0)
        completion(own.list[0], own.details(of: own.list[0]))
    }

    // MARK: Turns

    func wantsGrowth(_ pool: ConnectedPool) {
        if !growing.contains(where: { $0 === pool }) { growing.append(pool) }
        hook()
    }

    func wantsFlush(_ pool: ConnectedPool) {
        flushing.append(pool)
        hook()
    }

    private func hook() {
        guard !isHooked else { return }
        isHooked = true
        loop.atEndOfTurn(self)
    }

    package func endOfTurn() {
        isHooked = false
        if !growing.isEmpty {
            let pools = growing
            growing.removeAll(keepingCapacity: true)
            for pool in pools { pool.grow() }
        }
        deliver()
        flush()
        tellMetrics()
        watch(withinMilliseconds: 50)
        letGoIfOver()
    }

    private func deliver() {
        guard !outcomes.isEmpty else { return }
        swap(&outcomes, &lent)
        receiver?.ended(lent)
        lent.removeAll()
    }

    /// Also of what was pushed by whoever was just told of outcomes.
    private func flush() {
        guard !flushing.isEmpty else { return }
        swap(&flushing, &flushed)
        for pool in flushed { pool.turnEnds() }
        flushed.removeAll(keepingCapacity: true)
    }

    private func tellMetrics() {
        if acceptedCount > 0 { provider.metrics.accepted.add(acceptedCount) }
        acceptedCount = 0
        latency.flush(to: provider.metrics.seconds)
        if open != openTold { provider.metrics.open.add(Double(open - openTold)) }
        openTold = open
    }

    private func tick() {
        for pool in pools { pool.tick() }
        endOfTurnIfIdle()
        let next = pools.reduce(1_000) { min($0, $1.pool.tickMilliseconds) }
        watch(withinMilliseconds: next)
        letGoIfOver()
    }

    /// A client that is stopped lets go of its pools, which hold it, with the last connection.
    private func letGoIfOver() {
        guard isStopped, !isHooked, !pools.contains(where: { $0.pool.connectionCount > 0 }) else { return }
        pools.removeAll()
        poolOf.removeAll()
        timer?.cancel()
    }

    private func endOfTurnIfIdle() { if !outcomes.isEmpty || !growing.isEmpty { hook() } }

    private func watch(withinMilliseconds pause: Int) {
        guard let timer, !pools.isEmpty else { return }
        let due = loop.now.advanced(byMilliseconds: pause)
        if !timer.isScheduled || timer.due > due { timer.schedule(at: due) }
    }

    /// Takes no more pushes, says goodbye, and closes each connection when its pushes have ended.
    package func stop() {
        loop.preconditionOnLoop()
        isStopped = true
        for pool in pools { pool.shutDown() }
        hook()
    }
}

/// How it stands with an app.
package struct PoolHealth: Sendable, Hashable {
    /// A connection is open over which APNs has accepted the provider token.
    package let isWorking: Bool
    package let connections: Int
    /// Why no connection could be opened the last time, until one works.
    package let trouble: String?
}
