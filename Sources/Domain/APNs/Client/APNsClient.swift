internal import Identifiers
internal import JSON
package import Lifecycle
internal import Telemetry

/// A client that sends pushes to APNs from one event loop. Each app and environment has a pool for each kind of
/// connections (`PushConnections`). A push takes no lock, no task and no allocation.
///
/// Callers push as many as `capacity` allows in one iteration of the loop: these pushes are sent together at its end.
/// All outcomes of an iteration are delivered to the `PushReceiver` in one call. No queue is unbounded, and each pool
/// has its own limit. At the limit `push` throws, and the caller waits for outcomes of that pool.
///
/// All calls come from the client's loop. The pools retain the client until `stop`, which must be called before the
/// loop ends.
package final class APNsClient: IterationHook {
    package let provider: APNsProvider
    package let loop: EventLoop
    let reader = JSONReader()
    private weak var receiver: (any PushReceiver)?

    // Exclusivity is unchecked for some fields below, because every push accesses them. Only one thread does, and no
    // call made during an access uses them again.

    private var pools = PoolDirectory()
    /// Ticks the pools that are due.
    private var timer: LoopTimer?

    // The work at the end of the iteration.

    @safe @exclusivity(unchecked) private var isIterationEndScheduled = false
    private var poolsToGrow: [ConnectionPool] = []
    private var poolsToFlush: [ConnectionPool] = []
    /// Holds `poolsToFlush` while they are flushed, because a flush can add pools.
    private var poolsBeingFlushed: [ConnectionPool] = []
    @safe @exclusivity(unchecked) private var outcomes = PushOutcomes()
    /// Holds `outcomes` while they are delivered, because the receiver can push.
    private var outcomesInDelivery = PushOutcomes()

    // Counts for the metrics.

    /// Number of pushes that have not ended.
    @safe @exclusivity(unchecked) package private(set) var openPushes = 0
    /// The part of `openPushes` that the gauge contains.
    private var openPushesInMetrics = 0
    @safe @exclusivity(unchecked) private var latency = LatencyRun()
    /// Number of pushes answered 200 that the metrics do not contain yet.
    @safe @exclusivity(unchecked) private var acceptedCount = 0

    // The stop.

    @safe @exclusivity(unchecked) package private(set) var isStopped = false
    /// Closes the open connections of a stopped client at the deadline.
    private var closeTimer: LoopTimer?
    private var stopCallbacks: [() -> Void] = []

    /// Longest time from an event, such as a new push, to the next tick of its pool.
    private static let busyTickMilliseconds = 50
    /// Limit on the bytes of an answer to a push. Answers are short.
    private static let pushAnswerBytesMax = 4_096

    /// Call on the loop.
    package init(provider: APNsProvider, on loop: EventLoop, receiver: any PushReceiver) {
        loop.preconditionOnLoop()
        self.provider = provider
        self.loop = loop
        self.receiver = receiver
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
    }

    // MARK: Pushes

    /// Returns how many pushes of this template are accepted now. Pushes of other apps do not reduce the number. If it
    /// is 0, pushes of this pool are open or waiting, and their outcomes raise it again.
    package func capacity(for template: PushTemplate, over connections: PushConnections = .usual) -> Int {
        isStopped ? 0 : template.pool(for: connections).stateMachine.capacity
    }

    /// Whether the usual connections of this template are not open yet, and no attempt to connect has failed.
    package func isConnecting(for template: PushTemplate) -> Bool {
        template.pool(for: .usual).stateMachine.isConnecting
    }

    /// Takes a push. If it throws, the push has no effect.
    ///
    /// - Parameters:
    ///   - token: the bytes of the push token; empty for a broadcast.
    ///   - tag: a number of the caller, which the outcome contains.
    ///   - connections: the connections by which the push leaves.
    package func push(
        _ template: PushTemplate, token: Span<UInt8>, id: PushID, tag: UInt64, deadlines: PushDeadlines,
        over connections: PushConnections = .usual
    ) throws(PushRefusal) {
        precondition(token.count <= PushToken.bytesMax, "the token is too long")
        precondition(template.client === self, "a template of another client")
        guard !isStopped else { throw .stopped }
        let result = unsafe template.unmanagedPool(for: connections)._withUnsafeGuaranteedRef { pool in
            do throws(PushRefusal) {
                try pool.push(template, token: token, id: id, tag: tag, deadlines: deadlines)
                return Result<Void, PushRefusal>.success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
        openPushes += 1
        scheduleIterationEnd()
    }

    /// Withdraws every push of an app that was not fully sent. Each ends as `withdrawn`. Sent pushes
    /// continue.
    package func withdrawAll(of profile: PushProfile) {
        for pool in pools.all where pool.key.profile == profile && pool.key.purpose != .channelManagement {
            pool.withdrawAll()
        }
    }

    /// Sends one request and passes its outcome to `completion`, not to the receiver.
    func sendRequest(
        _ template: PushTemplate, within deadlines: PushDeadlines,
        then completion: @escaping (PushOutcome, PushDetails?) -> Void
    ) throws(PushRefusal) {
        guard !isStopped else { throw .stopped }
        openPushes += 1
        let id = PushID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        do {
            try template.pool(for: .usual).push(
                template, token: Span(), id: id, tag: 0, deadlines: deadlines, completion: completion)
        } catch {
            openPushes -= 1
            throw error
        }
        scheduleIterationEnd()
    }

    // MARK: Pools

    /// Returns the pool of the key, and creates it if necessary.
    func pool(for key: ConnectionPool.Key) -> ConnectionPool {
        if let existing = pools[key] {
            existing.lastTemplateAt = loop.now
            return existing
        }
        let (poolSettings, answerBytesMax) =
            switch key.purpose {
            case .pushes(let connections):
                (provider.settings.pool.settings(for: connections), Self.pushAnswerBytesMax)
            case .channelManagement:
                (provider.settings.pool.forChannels, provider.settings.channelAnswerBytesMax)
            }
        let pool = ConnectionPool(
            key: key, settings: poolSettings, answerBytesMax: answerBytesMax, client: self)
        if !isStopped {
            pools.add(pool)
            tickSoon(pool)
        }
        return pool
    }

    /// Returns the state of an app's pool. Returns nil before its first template and after the pool was idle
    /// for a while.
    package func health(of profile: PushProfile) -> PoolHealth? {
        let endpoint = provider.settings.hosts(for: profile.environment).push
        guard
            let pool = pools[
                ConnectionPool.Key(endpoint: endpoint, profile: profile, purpose: .pushes(.usual))]
        else { return nil }
        return PoolHealth(
            isWorking: pool.stateMachine.isAuthorized, connections: pool.stateMachine.openConnections,
            lastFailure: pool.connectFailure)
    }

    /// Number of pools that have pushes or connections, or had them recently.
    var poolCount: Int { pools.all.count }

    // MARK: Ends of pushes, as the pools report them

    /// Reports a plain 200.
    /// - Parameter slot: the push's slot in `pool.pushes`.
    func reportAccepted(in pool: ConnectionPool, slot: Int, isLate: Bool) {
        acceptedCount += 1
        settle(in: pool, slot: slot, isLate: isLate) { outcomes, tag in
            outcomes.appendAccepted(tag: tag, isLate: isLate)
        }
    }

    /// Reports an answer other than a plain 200.
    func reportAnswered(in pool: ConnectionPool, slot: Int, details: PushDetails, isLate: Bool) {
        if details.response.status == 200 {
            acceptedCount += 1
        } else {
            provider.metrics.countRefusal(details.response)
        }
        settle(in: pool, slot: slot, isLate: isLate) { outcomes, tag in
            outcomes.append(tag: tag, details: details, isLate: isLate)
        }
    }

    /// Reports an end without an answer.
    func reportEnded(in pool: ConnectionPool, slot: Int, end: PushEnd) {
        provider.metrics.countEnd(end)
        settle(in: pool, slot: slot, isLate: false, expectsAnswer: end == .unknown(.overdue)) {
            outcomes, tag in
            outcomes.append(tag: tag, end: end, isLate: false)
        }
    }

    /// Reports that no answer will follow for a push that was reported as unknown.
    func reportNoLateAnswer(in pool: ConnectionPool, slot: Int) {
        let push = unsafe pool.pushes[slot].pointee.end(expectsAnswer: false)
        if push.completion == nil {
            outcomes.append(tag: push.tag, end: .unknown(.overdue), isLate: true)
        }
        scheduleIterationEnd()
    }

    /// Ends a push and passes its outcome to its completion or, at the end of the iteration, to the receiver.
    ///
    /// - Parameters:
    ///   - isLate: whether the push had already been reported as overdue.
    ///   - expectsAnswer: whether an answer may still follow.
    ///   - append: appends the outcome, with the tag of the push.
    private func settle(
        in pool: ConnectionPool, slot: Int, isLate: Bool, expectsAnswer: Bool = false,
        append: (inout PushOutcomes, UInt64) -> Void
    ) {
        let push = unsafe pool.pushes[slot].pointee.end(expectsAnswer: expectsAnswer)
        if isLate {
            provider.metrics.lateAnswers.add()
        } else {
            openPushes -= 1
            latency.add(loop.now.milliseconds(since: push.takenAt), to: provider.metrics.pushSeconds)
        }
        if let completion = push.completion {
            complete(completion, append: append)
        } else {
            append(&outcomes, push.tag)
        }
        scheduleIterationEnd()
    }

    /// Passes an outcome to the completion of its push.
    private func complete(
        _ completion: PushEntry.Completion, append: (inout PushOutcomes, UInt64) -> Void
    ) {
        var singleOutcome = PushOutcomes()
        append(&singleOutcome, 0)
        let outcome = singleOutcome.list[0]
        completion(outcome, singleOutcome.details(of: outcome))
    }

    // MARK: The end of an iteration

    /// Requests a call of the pool's `grow` at the end of the iteration.
    func requestGrowth(of pool: ConnectionPool) {
        if !poolsToGrow.contains(where: { $0 === pool }) { poolsToGrow.append(pool) }
        scheduleIterationEnd()
    }

    /// Requests a flush of the pool at the end of the iteration.
    func requestFlush(of pool: ConnectionPool) {
        poolsToFlush.append(pool)
        scheduleIterationEnd()
    }

    private func scheduleIterationEnd() {
        guard !isIterationEndScheduled else { return }
        isIterationEndScheduled = true
        loop.callAtEndOfIteration(self)
    }

    /// Does the work that the calls of this iteration have requested. Outcomes are delivered before the flush, so that
    /// the pushes that their receiver makes are flushed too.
    package func iterationWillEnd() {
        isIterationEndScheduled = false
        growPools()
        deliverOutcomes()
        flush()
        recordMetrics()
        releasePoolsIfStopped()
    }

    /// Lets the pools that requested it open connections.
    private func growPools() {
        guard !poolsToGrow.isEmpty else { return }
        let growingPools = poolsToGrow
        poolsToGrow.removeAll(keepingCapacity: true)
        for pool in growingPools {
            pool.grow()
            tickSoon(pool)
        }
    }

    private func deliverOutcomes() {
        guard !outcomes.isEmpty else { return }
        swap(&outcomes, &outcomesInDelivery)
        receiver?.receive(outcomesInDelivery)
        outcomesInDelivery.removeAll()
    }

    /// Sends the pushes of this iteration.
    private func flush() {
        guard !poolsToFlush.isEmpty else { return }
        swap(&poolsToFlush, &poolsBeingFlushed)
        for pool in poolsBeingFlushed {
            pool.endIteration()
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
        let latestTickAt = loop.now.advanced(byMilliseconds: APNsClient.busyTickMilliseconds)
        if pool.tickAt > latestTickAt { pool.tickAt = latestTickAt }
        if let timer, !timer.isScheduled || timer.dueAt > pool.tickAt { timer.schedule(at: pool.tickAt) }
    }

    // MARK: Stop

    /// Stops taking pushes. Waiting pushes end as `notProcessed(.stopped)`. The client awaits sent pushes
    /// until the deadline, and then they end as unknown. When `done` is called, all pushes have ended and all
    /// outcomes are delivered. Call on the loop.
    package func stop(by deadline: Instant? = nil, whenDone done: @escaping () -> Void = {}) {
        loop.preconditionOnLoop()
        stopCallbacks.append(done)
        if !isStopped {
            isStopped = true
            for pool in pools.all { pool.stop() }
            closeTimer = LoopTimer(on: loop) { [weak self] in self?.closeAll() }
        }
        let closeAt = deadline ?? loop.now.advanced(byMilliseconds: provider.settings.stopMilliseconds)
        // If `stop` is called several times, the earliest deadline counts.
        if let closeTimer, !closeTimer.isScheduled || closeTimer.dueAt > closeAt {
            closeTimer.schedule(at: closeAt)
        }
        scheduleIterationEnd()
    }

    private func closeAll() {
        for pool in pools.all { pool.closeAll() }
        scheduleIterationEnd()
    }

    /// Releases the pools of a stopped client when the last connection has closed and the last outcome is
    /// delivered. Until then the pools retain the client.
    private func releasePoolsIfStopped() {
        guard isStopped, !isIterationEndScheduled, outcomes.isEmpty else { return }
        let hasConnections = pools.all.contains { $0.stateMachine.connectionCount > 0 }
        if hasConnections { return }
        pools = PoolDirectory()
        timer?.cancel()
        closeTimer?.cancel()
        let callbacks = stopCallbacks
        stopCallbacks.removeAll()
        for callback in callbacks { callback() }
    }
}
