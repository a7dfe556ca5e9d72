package import HTTP2
internal import JSON
package import Lifecycle
internal import LiveActivity
internal import Telemetry

/// Sends pushes to APNs from one event loop. Each app and environment has a pool of connections, and a
/// separate pool for suspect tokens. A push takes no lock, no task and no allocation.
///
/// Push as many as `room` allows in one turn of the loop: they are sent together at its end. All outcomes of
/// a turn are delivered in one call. No queue is unbounded, and each pool has its own limit. At the limit
/// `push` refuses, and the caller waits for outcomes of that pool.
///
/// The client is confined to its loop. It retains itself until `stop`, which must be called before the loop
/// ends.
package final class APNsClient: IterationHook {
    package let provider: APNsProvider
    package let loop: EventLoop
    let reader = JSONReader()
    private weak var receiver: (any PushReceiver)?
    private var pools = PoolDirectory()
    private var poolsToGrow: [ConnectionPool] = []
    private var poolsToFlush: [ConnectionPool] = []
    private var poolsBeingFlushed: [ConnectionPool] = []
    /// Exclusivity is unchecked here and for the counters. Pushes access them on one thread, and no call made
    /// during an access uses them again.
    @safe @exclusivity(unchecked) private var outcomes = PushOutcomes()
    private var outcomesInDelivery = PushOutcomes()
    /// Number of pushes that have not ended.
    @safe @exclusivity(unchecked) package private(set) var openPushes = 0
    private var openPushesInMetrics = 0
    @safe @exclusivity(unchecked) private var latency = LatencyRun()
    @safe @exclusivity(unchecked) private var acceptedCount = 0
    private var timer: LoopTimer?
    @safe @exclusivity(unchecked) private var isTurnEndScheduled = false
    @safe @exclusivity(unchecked) package private(set) var isStopped = false
    /// Timer that closes the open connections of a stopped client, and callbacks for its end.
    private var closeTimer: LoopTimer?
    private var stopWaiters: [() -> Void] = []

    /// Longest wait of a new push before its pool is ticked.
    private static let busyTickMilliseconds = 50

    /// Call on the loop.
    package init(provider: APNsProvider, on loop: EventLoop, receiver: any PushReceiver) {
        loop.preconditionOnLoop()
        self.provider = provider
        self.loop = loop
        self.receiver = receiver
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
    }

    // MARK: Pushes

    /// Returns how many pushes of this template are accepted now. Pushes of other apps do not reduce it. If
    /// it is 0, pushes of this pool are open or waiting, and it changes with their outcomes.
    package func capacity(for template: PushTemplate, isSuspect: Bool = false) -> Int {
        isStopped ? 0 : template.pool(isSuspect: isSuspect).stateMachine.capacity
    }

    /// Whether the first connection for pushes of this template is still to come.
    package func isConnecting(for template: PushTemplate) -> Bool {
        template.pool(isSuspect: false).stateMachine.isConnecting
    }

    /// Takes a push, or throws a refusal, after which the push has no effect.
    ///
    /// - Parameters:
    ///   - token: the bytes of the push token; empty for a broadcast.
    /// - isSuspect: whether the token was never accepted, or failed the last time.
    @discardableResult
    package func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, deadlines: PushDeadlines,
        isSuspect: Bool = false
    ) throws(PushRefusal) -> PushHandle {
        precondition(token.count <= PushToken.bytesMax, "the token is too long")
        precondition(template.pool.client === self, "a template of another client")
        guard !isStopped else { throw .stopped }
        let taken = unsafe template.unmanagedPool(isSuspect: isSuspect)._withUnsafeGuaranteedRef { pool in
            do throws(PushRefusal) {
                let ticket = try pool.push(template, token: token, id: id, tag: tag, deadlines: deadlines)
                return Result<PushHandle, PushRefusal>.success(PushHandle(pool: pool.number, ticket: ticket))
            } catch {
                return .failure(error)
            }
        }
        if case .success = taken {
            openPushes += 1
            scheduleTurnEnd()
        }
        return try taken.get()
    }

    /// Withdraws a push that was not fully sent. Its outcome is `withdrawn`. Returns false if it is too late.
    package func withdraw(_ handle: PushHandle) -> Bool {
        pools[handle.pool]?.withdraw(handle.ticket) ?? false
    }

    /// Withdraws every push of an app that was not fully sent. Each ends as `withdrawn`. Sent pushes
    /// continue.
    package func withdrawAll(of profile: PushProfile) {
        for pool in pools.all where pool.key.appEnvironment == profile && pool.key.purpose != .channels {
            pool.withdrawAll()
        }
    }

    /// Sends one request and passes its outcome to `completion`, not to the receiver.
    func sendRequest(
        _ template: PushTemplate, within limits: PushDeadlines,
        then completion: @escaping (PushOutcome, PushDetails?) -> Void
    ) throws(PushRefusal) {
        guard !isStopped else { throw .stopped }
        openPushes += 1
        let id = PushID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        do {
            _ = try template.pool(isSuspect: false).push(
                template, token: Span(), id: id, tag: 0, deadlines: limits, completion: completion)
        } catch {
            openPushes -= 1
            throw error
        }
        scheduleTurnEnd()
    }

    // MARK: Templates

    /// Returns a template for the pushes of one send to tokens.
    package func template(
        _ profile: PushProfile, _ headers: LiveActivityHeaders, body: [UInt8]
    ) throws(HeaderFieldError) -> PushTemplate {
        let endpoint = provider.settings.hosts(for: profile.environment).push
        return try PushTemplate(
            .device, headers: headers.fields, body: body,
            pool: pool(
                for: ConnectionPool.Key(endpoint: endpoint, appEnvironment: profile, purpose: .pushes)),
            suspects: pool(
                for: ConnectionPool.Key(endpoint: endpoint, appEnvironment: profile, purpose: .suspects)))
    }

    /// Returns a template for one broadcast to a channel.
    package func template(
        _ profile: PushProfile, broadcast headers: BroadcastHeaders, body: [UInt8]
    ) throws(HeaderFieldError) -> PushTemplate {
        let endpoint = provider.settings.hosts(for: profile.environment).broadcast
        return try PushTemplate(
            .fixed(path: Array("/4/broadcasts/apps/\(profile.bundleID)".utf8)), headers: headers.fields,
            body: body,
            pool: pool(for: ConnectionPool.Key(endpoint: endpoint, appEnvironment: profile, purpose: .pushes))
        )
    }

    func pool(for key: ConnectionPool.Key) -> ConnectionPool {
        if let known = pools[key] {
            known.lastTemplateAt = loop.now
            return known
        }
        let pool =
            switch key.purpose {
            case .pushes: makePool(for: key, settings: provider.settings.pool)
            case .suspects: makePool(for: key, settings: provider.settings.pool.forSuspects)
            case .channels:
                makePool(
                    for: key, settings: provider.settings.pool.forChannels,
                    answerBytesMax: provider.settings.channelAnswerBytesMax)
            }
        if !isStopped {
            pools.add(pool)
            tickSoon(pool)
        }
        return pool
    }

    private func makePool(
        for key: ConnectionPool.Key, settings: PoolSettings, answerBytesMax: Int = 4_096
    ) -> ConnectionPool {
        ConnectionPool(
            key: key, number: pools.nextNumber(), settings: settings, answerBytesMax: answerBytesMax,
            client: self)
    }

    /// Returns the state of an app's pool. Returns nil before its first template and after the pool was idle
    /// for a while.
    package func health(of profile: PushProfile) -> PoolHealth? {
        let endpoint = provider.settings.hosts(for: profile.environment).push
        guard
            let pool = pools[
                ConnectionPool.Key(endpoint: endpoint, appEnvironment: profile, purpose: .pushes)]
        else { return nil }
        return PoolHealth(
            isWorking: pool.stateMachine.isAuthorized, connections: pool.stateMachine.openConnections,
            lastFailure: pool.connectFailure)
    }

    /// Number of pools that have pushes or connections, or had them recently.
    var poolCount: Int { pools.all.count }

    // MARK: Ends

    func reportAccepted(in pool: ConnectionPool, slot: Int, isLate: Bool) {
        acceptedCount += 1
        settle(in: pool, slot: slot, isLate: isLate) { $0.appendAccepted(tag: $1, isLate: isLate) }
    }

    func reportAnswered(in pool: ConnectionPool, slot: Int, details: PushDetails, isLate: Bool) {
        if details.response.status == 200 {
            acceptedCount += 1
        } else {
            provider.metrics.countRefusal(details.response)
        }
        settle(in: pool, slot: slot, isLate: isLate) { $0.append(tag: $1, details: details, isLate: isLate) }
    }

    func reportEnded(in pool: ConnectionPool, slot: Int, end: PushEnd) {
        provider.metrics.countEnd(end)
        settle(in: pool, slot: slot, isLate: false, expectsAnswer: end == .unknown(.overdue)) {
            $0.append(tag: $1, end: end, isLate: false)
        }
    }

    /// Reports that no answer will follow for a push that was reported as unknown.
    func reportNoLateAnswer(in pool: ConnectionPool, slot: Int) {
        let parcel = unsafe pool.pushes[slot].pointee.end(expectsAnswer: false)
        if parcel.completion == nil {
            outcomes.append(tag: parcel.tag, end: .unknown(.overdue), isLate: true)
        }
        scheduleTurnEnd()
    }

    /// - Parameter keeps: whether an answer may still follow.
    private func settle(
        in pool: ConnectionPool, slot: Int, isLate: Bool, expectsAnswer: Bool = false,
        append: (inout PushOutcomes, UInt64) -> Void
    ) {
        let parcel = unsafe pool.pushes[slot].pointee.end(expectsAnswer: expectsAnswer)
        if isLate {
            provider.metrics.lateAnswers.add()
        } else {
            openPushes -= 1
            latency.add(loop.now.milliseconds(since: parcel.takenAt), to: provider.metrics.pushSeconds)
        }
        if let completion = parcel.completion {
            complete(completion, append: append)
        } else {
            append(&outcomes, parcel.tag)
        }
        scheduleTurnEnd()
    }

    private func complete(
        _ completion: PushEntry.Completion, append: (inout PushOutcomes, UInt64) -> Void
    ) {
        var own = PushOutcomes()
        append(&own, 0)
        completion(own.list[0], own.details(of: own.list[0]))
    }

    // MARK: Turns

    func requestGrowth(of pool: ConnectionPool) {
        if !poolsToGrow.contains(where: { $0 === pool }) { poolsToGrow.append(pool) }
        scheduleTurnEnd()
    }

    func requestFlush(of pool: ConnectionPool) {
        poolsToFlush.append(pool)
        scheduleTurnEnd()
    }

    private func scheduleTurnEnd() {
        guard !isTurnEndScheduled else { return }
        isTurnEndScheduled = true
        loop.callAtEndOfIteration(self)
    }

    package func iterationWillEnd() {
        isTurnEndScheduled = false
        if !poolsToGrow.isEmpty {
            let pools = poolsToGrow
            poolsToGrow.removeAll(keepingCapacity: true)
            for pool in pools {
                pool.grow()
                tickSoon(pool)
            }
        }
        deliverOutcomes()
        flush()
        recordMetrics()
        releasePoolsIfStopped()
    }

    private func deliverOutcomes() {
        guard !outcomes.isEmpty else { return }
        swap(&outcomes, &outcomesInDelivery)
        receiver?.receive(outcomesInDelivery)
        outcomesInDelivery.removeAll()
    }

    /// Also sends the pushes that the receiver made when it got the outcomes.
    private func flush() {
        guard !poolsToFlush.isEmpty else { return }
        swap(&poolsToFlush, &poolsBeingFlushed)
        for pool in poolsBeingFlushed {
            pool.endTurn()
            tickSoon(pool)
        }
        poolsBeingFlushed.removeAll(keepingCapacity: true)
    }

    private func recordMetrics() {
        if acceptedCount > 0 { provider.metrics.accepted.add(acceptedCount) }
        acceptedCount = 0
        latency.flush(to: provider.metrics.pushSeconds)
        if openPushes != openPushesInMetrics {
            provider.metrics.openPushes.add(Double(openPushes - openPushesInMetrics))
        }
        openPushesInMetrics = openPushes
    }

    // MARK: Time

    /// Ticks the pools that are due. Each pool has its own due time, so a busy pool wakes no other.
    private func tick() {
        let now = loop.now
        for pool in pools.all where pool.tickAt <= now {
            pool.tick()
            pool.tickAt = now.advanced(byMilliseconds: pool.stateMachine.tickMilliseconds)
            if pool.isExpired { pools.remove(pool) }
        }
        if let next = pools.all.lazy.map(\.tickAt).min() { timer?.schedule(at: next) }
        releasePoolsIfStopped()
    }

    /// Makes the pool's next tick come soon, after an event.
    private func tickSoon(_ pool: ConnectionPool) {
        let due = loop.now.advanced(byMilliseconds: APNsClient.busyTickMilliseconds)
        if pool.tickAt > due { pool.tickAt = due }
        if let timer, !timer.isScheduled || timer.dueAt > pool.tickAt { timer.schedule(at: pool.tickAt) }
    }

    // MARK: Stop

    /// Stops taking pushes. Waiting pushes end as `notProcessed(.stopped)`. The client awaits sent pushes
    /// until the deadline, and then they end as unknown. When `done` is called, all pushes have ended and all
    /// outcomes are delivered. Call on the loop.
    package func stop(by deadline: Instant? = nil, whenDone done: @escaping () -> Void = {}) {
        loop.preconditionOnLoop()
        stopWaiters.append(done)
        if !isStopped {
            isStopped = true
            for pool in pools.all { pool.stop() }
            closeTimer = LoopTimer(on: loop) { [weak self] in self?.closeAll() }
        }
        let latest = deadline ?? loop.now.advanced(byMilliseconds: provider.settings.stopMilliseconds)
        if let closeTimer, !closeTimer.isScheduled || closeTimer.dueAt > latest {
            closeTimer.schedule(at: latest)
        }
        scheduleTurnEnd()
    }

    private func closeAll() {
        for pool in pools.all { pool.closeAll() }
        scheduleTurnEnd()
    }

    /// Releases the pools of a stopped client when the last connection has closed and the last outcome is
    /// delivered. Until then the pools retain the client.
    private func releasePoolsIfStopped() {
        guard isStopped, !isTurnEndScheduled, outcomes.isEmpty,
            !pools.all.contains(where: { $0.stateMachine.connectionCount > 0 })
        else { return }
        pools = PoolDirectory()
        timer?.cancel()
        closeTimer?.cancel()
        let waiters = stopWaiters
        stopWaiters.removeAll()
        for waiter in waiters { waiter() }
    }
}

/// State of an app's pool.
package struct PoolHealth: Sendable, Hashable {
    /// Whether an open connection exists on which APNs has accepted the provider token.
    package let isWorking: Bool
    package let connections: Int
    /// The reason why the last connection failed. Nil once a connection works.
    package let lastFailure: String?
}
