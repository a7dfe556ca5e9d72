internal import Catalog
internal import CatalogRecords
internal import Cryptography
internal import JSON
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import TokenSealing
internal import Topics

/// The loop of one endpoint, on its own thread: a member of the endpoint's consumer group that makes events from records,
/// and calls the endpoint. So a slow endpoint takes no thread, no memory and no partition from another.
///
/// Its extensions read records (`+Reading`), take over and release partitions (`+Assignment`), and call (`+Calls`).
final class EndpointLoop: EventHandler {
    /// The state of the membership.
    enum Phase {
        /// No partition is assigned.
        case idle
        /// The group has made an offer that is not answered yet.
        case offered([TopicPartition])
        /// The partitions are taken over, and their cursors are being looked up.
        case locating(PartitionLocator)
        case reading
        /// The partitions are released when the calls in flight are finished, or at this time.
        case releasing(by: Instant)
        /// The loop ends when the calls in flight are finished, or at this time.
        case stopping(by: Instant, completion: () -> Void)
        case stopped
    }

    /// The interval between two commits of changed cursors.
    private static let commitMilliseconds = 500
    /// The longest wait for the end of the membership in the group.
    private static let closeMilliseconds = 3000
    /// The shortest pause between two iterations that a timer starts.
    private static let busyMilliseconds = 10
    static let retryMilliseconds = 1000

    let parts: EndpointParts
    let loop: EventLoop
    let consumer: Consumer
    let client: EndpointClient
    let reader = JSONReader()
    let seal: TokenSeal
    var batch = RecordBatch(
        recordsMax: WebhooksSettings.batchRecordsMax, bytesMax: WebhooksSettings.batchBytesMax)
    var random = SystemRandomNumberGenerator()

    var phase = Phase.idle
    /// Rises with each assignment. The outcome of a call of an earlier assignment is dropped.
    var assignment = 0
    var queue: WebhookQueue
    var partitions: [TopicPartition: PartitionEvents] = [:]
    /// The numbers of partitions whose results are missing, by query.
    var openQueries: [OffsetQueryID: Int] = [:]
    /// The time at which a failed step is tried again.
    var nextAttempt = Instant.now()
    /// The cursors of the last commit. Empty if all of them must be committed again.
    var committedCursors: [TopicPartition: CommittedCursor] = [:]
    private var nextCommit = Instant.now()
    /// Whether the endpoint has answered 410. It is not called any more.
    var isGone = false
    private var timer: LoopTimer?

    init(_ parts: EndpointParts, on loop: EventLoop) throws {
        self.parts = parts
        self.loop = loop
        consumer = try Consumer(
            settings: parts.environment.cluster.settings, options: parts.consumerOptions, name: "webhooks",
            log: parts.log, metrics: parts.kafkaMetrics)
        client = EndpointClient(
            to: parts.url, tls: parts.tls, networks: NetworkGuard(allowing: parts.settings.allowedNetworks),
            on: loop, callMilliseconds: parts.settings.callMilliseconds)
        seal = TokenSeal(keys: parts.environment.sealingKeys)
        queue = WebhookQueue(eventsMax: parts.settings.eventsMax, callsMax: parts.settings.callsMax)
        timer = LoopTimer(on: loop) { [unowned self] in iterate() }
        try loop.register(consumer.descriptor, for: .readable, handler: self)
        timer?.schedule(at: loop.now)
    }

    func didBecomeReady(_ readiness: Readiness) { iterate() }

    func loopWillEnd() {
        timer?.cancel()
        client.close()
        batch.clear()
    }

    /// Takes everything that is available, and arranges the next iteration.
    func iterate() {
        if case .stopped = phase { return }
        let events = consumer.poll(into: &batch)
        if case .reading = phase { readBatch() }
        batch.clear()
        for event in events { handle(event) }
        takeOver()
        let now = Instant.now()
        if case .reading = phase {
            collectDue(at: now)
            sendDue(at: now)
            arrangeReading(at: now)
        }
        if now >= nextCommit {
            nextCommit = now.advanced(byMilliseconds: Self.commitMilliseconds)
            commitAsynchronously()
        }
        releaseIfReady(at: now)
        publish()
        scheduleNext()
    }

    func scheduleNext() {
        if case .stopped = phase { return }
        // The loop runs at least as often as it commits.
        let latest = Instant.now().advanced(byMilliseconds: Self.commitMilliseconds)
        var next = latest
        if case .reading = phase, !isGone, queue.callCount < queue.callsMax, let attempt = queue.nextAttempt {
            // A due attempt that cannot leave, because the assignment is uncertain, must not keep the thread busy.
            let earliest = Instant.now().advanced(byMilliseconds: Self.busyMilliseconds)
            let nextSend = max(attempt, earliest)
            next = min(latest, nextSend)
        }
        timer?.schedule(at: max(next, loop.now))
    }

    /// Ends the loop: finishes the calls in flight, commits and leaves the group. Calls `completion` once.
    func stop(by deadline: Instant, completion: @escaping () -> Void) {
        if case .stopped = phase { return completion() }
        phase = .stopping(by: deadline, completion: completion)
        iterate()
    }

    private func releaseIfReady(at now: Instant) {
        switch phase {
        case .releasing(let deadline) where queue.callCount == 0 || now >= deadline:
            commitAndWait()
            forgetPartitions()
            phase = .idle
            do { try consumer.release() } catch {
                parts.log.warning(
                    "partitions of a webhook endpoint were not released", .field("error", error))
            }
            parts.onStep(.partitionsReleased)
        case .stopping(let deadline, let completion) where queue.callCount == 0 || now >= deadline:
            commitAndWait()
            phase = .stopped
            forgetPartitions()
            client.close()
            loop.deregister(consumer.descriptor)
            if !consumer.close(withinMilliseconds: Self.closeMilliseconds) {
                parts.log.warning(
                    "the group of a webhook endpoint was not left in time; the session timeout ends it",
                    .field("endpoint", parts.endpoint.name))
            }
            completion()
        default: break
        }
    }

    private func publish() {
        let isServing = if case .reading = phase { true } else { false }
        parts.report.update { values in
            values.isServing = isServing
            values.unfinishedEvents = queue.eventCount
            values.callsInFlight = queue.callCount
            values.oldestTime = queue.oldestTime
        }
    }
}
