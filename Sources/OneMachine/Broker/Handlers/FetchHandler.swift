internal import Lifecycle
internal import Telemetry

/// The handler of Fetch. It answers at once if there are records, else when records come or the client's
/// wait ends. It copies stored batches into the answer unchanged.
final class FetchHandler: IterationHook {
    private unowned let node: BrokerNode
    /// The waiting requests by the number of the log. An empty entry stays, because the readers of a quiet
    /// log come back after each wait.
    private var waiting: [Int: [ParkedFetch]] = [:]
    /// The waiting requests that are checked at the end of the loop's iteration.
    private var woken: [ParkedFetch] = []
    private var parkedCount = 0

    /// Limit for the wait of a client.
    private static let waitMillisecondsMax: Int32 = 60_000
    /// Waits end together, at multiples of a step, so that the readers of quiet logs need few iterations of the
    /// loop. The step is at most this time, and at most a fifth of the wait.
    private static let stepMillisecondsMax = 100
    private static let stepDivisor = 5

    init(node: BrokerNode) {
        self.node = node
    }

    func handle(_ request: FetchRequest, for exchange: RequestExchange) {
        // The broker makes no fetch sessions, so a client that names one means another broker.
        guard request.sessionID == 0 else {
            return exchange.answer { writer in
                FetchResponse.writeError(.fetchSessionIDNotFound, to: &writer, version: exchange.version)
            }
        }
        let parked = ParkedFetch(
            request, on: exchange, targets: targets(of: request), refusals: refusals(of: request))
        guard request.waitMillisecondsMax > 0, !parked.isReady else { return answer(parked) }
        if answerIfEnough(parked) { return }
        park(parked)
    }

    private func targets(of request: FetchRequest) -> [[PartitionLog?]] {
        request.topics.map { topic in
            topic.partitions.map { node.topics.log(topic: topic.topic, partition: $0.index) }
        }
    }

    /// Returns the errors that a test injects, by topic and partition of the request; nil in the product.
    private func refusals(of request: FetchRequest) -> [[ErrorCode?]]? {
        guard node.settings.clusterDelays != nil else { return nil }
        return request.topics.map { topic in
            topic.partitions.map { node.refusal(byLeaderOf: topic.topic, partition: $0.index) }
        }
    }

    // MARK: Waiting

    /// Lets a request wait for records, until its time is over.
    private func park(_ parked: ParkedFetch) {
        let wait = min(parked.request.waitMillisecondsMax, Self.waitMillisecondsMax)
        let timer = LoopTimer(on: node.loop) { [weak self, weak parked] in
            guard let self, let parked else { return }
            self.unpark(parked)
            self.answer(parked)
        }
        let step = min(Self.stepMillisecondsMax, Int(wait) / Self.stepDivisor)
        timer.schedule(at: node.loop.now.advanced(byMilliseconds: Int(wait)).roundedUp(toMilliseconds: step))
        parked.timer = timer
        for log in parked.logs { waiting[log.id, default: []].append(parked) }
        parked.exchange.onAbandon = { [weak self, weak parked] in
            if let parked { self?.unpark(parked) }
        }
        parkedCount += 1
        node.metrics.parkedFetches.set(Double(parkedCount))
    }

    /// Ends the wait of a request.
    private func unpark(_ parked: ParkedFetch) {
        guard let timer = parked.timer else { return }
        timer.cancel()
        parked.timer = nil
        parked.exchange.onAbandon = nil
        for log in parked.logs { waiting[log.id]?.removeAll { $0 === parked } }
        parkedCount -= 1
        node.metrics.parkedFetches.set(Double(parkedCount))
    }

    /// Wakes the requests that wait for a log whose topic was deleted. They are answered with an error.
    func removeLog(_ log: PartitionLog) {
        logDidAdvance(log)
        for parked in waiting.removeValue(forKey: log.id) ?? [] { parked.removeLog(log) }
    }

    /// Called when readers may see more of a log. The requests are checked once, at the end of the iteration.
    func logDidAdvance(_ log: PartitionLog) {
        guard let requests = waiting[log.id] else { return }
        for parked in requests where !parked.isWoken {
            parked.isWoken = true
            if woken.isEmpty { node.loop.callAtEndOfIteration(self) }
            woken.append(parked)
        }
    }

    /// Answers the woken requests that are ready. The others wait on.
    func iterationWillEnd() {
        let requests = woken
        woken = []
        for parked in requests {
            parked.isWoken = false
            guard parked.isWaiting else { continue }
            if parked.isReady {
                unpark(parked)
                answer(parked)
            } else {
                _ = answerIfEnough(parked)
            }
        }
    }

    // MARK: Answers

    private func answer(_ parked: ParkedFetch) {
        parked.exchange.answer { writer in
            FetchResponse.write(parked, to: &writer, limits: limits)
        }
    }

    /// The limits of an answer that is made now. If clients do not read, answers become smaller, so that
    /// they do not fill the memory. Each answer has at least one batch.
    private var limits: SessionLimits {
        var limits = node.settings.limits
        limits.fetchBytesMax = min(limits.fetchBytesMax, max(0, limits.unsentBytesMax - node.unsentBytes))
        return limits
    }

    /// Answers a request that wants a minimum of bytes, if there are enough. Returns whether it has answered. Only a read
    /// shows how many bytes there are, so this reads them, and drops them if they are too few.
    private func answerIfEnough(_ parked: ParkedFetch) -> Bool {
        guard parked.request.bytesMin > 1, parked.hasData else { return false }
        var writer = WireWriter(capacity: 64 * 1024, encoding: .classic)
        let read = FetchResponse.write(parked, to: &writer, limits: limits)
        let hasEnough = read.byteCount >= Int(parked.request.bytesMin)
        let waitAddsNothing = read.isFull || read.hasMore
        guard hasEnough || waitAddsNothing else { return false }
        unpark(parked)
        parked.exchange.answer { answer in unsafe writer.withBytes { unsafe answer.append($0) } }
        return true
    }
}
