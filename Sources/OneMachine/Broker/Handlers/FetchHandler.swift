internal import Lifecycle
internal import Telemetry

/// The handler of Fetch. It answers at once if there are records, else when records come or the wait
/// ends. It copies stored batches into the answer unchanged.
final class FetchHandler: IterationHook {
    private unowned let node: BrokerNode
    /// The waiting readers of each log. An empty entry stays, because the readers of a quiet log come
    /// back after each wait.
    private var waiting: [Int: [ParkedFetch]] = [:]
    private var woken: [ParkedFetch] = []
    private var parkedCount = 0

    /// Limit for the wait of a client.
    private static let waitMillisecondsMax: Int32 = 60_000
    /// Waits end together, at multiples of this time and up to a fifth late. So the readers of quiet logs
    /// need few turns of the loop.
    private static let stepMillisecondsMax = 100
    private static let stepShare = 5

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

    /// Errors from the test's weather, by topic and partition of the request; nil in the product.
    private func refusals(of request: FetchRequest) -> [[ErrorCode?]]? {
        guard node.settings.clusterDelays != nil else { return nil }
        return request.topics.map { topic in
            topic.partitions.map { node.refusal(byLeaderOf: topic.topic, partition: $0.index) }
        }
    }

    // MARK: Waiting

    private func park(_ parked: ParkedFetch) {
        let wait = min(parked.request.waitMillisecondsMax, Self.waitMillisecondsMax)
        let timer = LoopTimer(on: node.loop) { [weak self, weak parked] in
            guard let self, let parked else { return }
            self.unpark(parked)
            self.answer(parked)
        }
        let step = min(Self.stepMillisecondsMax, Int(wait) / Self.stepShare)
        timer.schedule(at: node.loop.now.advanced(byMilliseconds: Int(wait)).roundedUp(toMilliseconds: step))
        parked.timer = timer
        for log in parked.logs { waiting[log.id, default: []].append(parked) }
        parked.exchange.onAbandon = { [weak self, weak parked] in
            if let parked { self?.unpark(parked) }
        }
        parkedCount += 1
        node.metrics.parkedFetches.set(Double(parkedCount))
    }

    private func unpark(_ parked: ParkedFetch) {
        guard let timer = parked.timer else { return }
        timer.cancel()
        parked.timer = nil
        parked.exchange.onAbandon = nil
        for log in parked.logs { waiting[log.id]?.removeAll { $0 === parked } }
        parkedCount -= 1
        node.metrics.parkedFetches.set(Double(parkedCount))
    }

    /// Answers the waiting readers of a log whose topic was deleted.
    func removeLog(_ log: PartitionLog) {
        logDidAdvance(log)
        for parked in waiting.removeValue(forKey: log.id) ?? [] { parked.removeLog(log) }
    }

    /// Notes that readers may see more of this log. They are checked once, at the end of the turn.
    func logDidAdvance(_ log: PartitionLog) {
        guard let readers = waiting[log.id] else { return }
        for parked in readers where !parked.isWoken {
            parked.isWoken = true
            if woken.isEmpty { node.loop.callAtEndOfIteration(self) }
            woken.append(parked)
        }
    }

    func iterationWillEnd() {
        let readers = woken
        woken = []
        for parked in readers {
            parked.isWoken = false
            guard parked.timer != nil else { continue }
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

    /// Limits for an answer now. Clients that do not read must not fill the memory with answers, but each
    /// answer has at least one batch.
    private var limits: SessionLimits {
        var limits = node.settings.limits
        limits.fetchBytesMax = min(limits.fetchBytesMax, max(0, limits.unsentBytesMax - node.unsentBytes))
        return limits
    }

    /// Answers a reader with a minimum of bytes. Reads the available records and drops them if they are
    /// not enough.
    private func answerIfEnough(_ parked: ParkedFetch) -> Bool {
        guard parked.request.bytesMin > 1, parked.hasData else { return false }
        var writer = WireWriter(capacity: 64 * 1024, flexible: false)
        let read = FetchResponse.write(parked, to: &writer, limits: limits)
        guard read.bytes >= Int(parked.request.bytesMin) || read.isFull || read.hasMore else { return false }
        unpark(parked)
        parked.exchange.answer { answer in unsafe writer.withBytes { unsafe answer.append($0) } }
        return true
    }
}
