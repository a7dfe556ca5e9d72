internal import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

// The assignment: partitions are taken over, their cursors are looked up and committed, and the partitions
// are released.

extension EndpointLoop {
    /// The longest wait for a commit before partitions are released.
    private static let commitWaitMilliseconds = 1000
    /// Partitions are released this long before the group's deadline, even if calls are in flight.
    private static let releaseMarginMilliseconds = 3000

    /// Handles an event of the consumer.
    func handle(_ event: ConsumerEvent) {
        switch event {
        case .offered(let offer):
            if isStopping { return }
            forgetPartitions()
            phase = .offered(offer)
            nextAttempt = .now()
        case .revoked(_, let deadline):
            if isStopping { return }
            phase = .releasing(by: deadline.advanced(byMilliseconds: -Self.releaseMarginMilliseconds))
        case .lost:
            if isStopping { return }
            forgetPartitions()
            phase = .idle
            parts.metrics.startedOver.add()
            do { try consumer.release() } catch {
                parts.log.warning("lost partitions were not released", .field("error", error))
            }
        // If the process was suspended for long, the partitions may be reassigned. All cursors are committed again, and
        // the outcome shows whether this process still owns the partitions.
        case .suspended: committedCursors = [:]
        case .committed(_, let outcome): if outcome != .committed { committedCursors = [:] }
        case .queryCompleted(let id, let result): take(result, of: id)
        case .failed(.outOfRange): locateAgain()
        case .failed(let failure):
            parts.log.warning(
                "records of a webhook endpoint cannot be read now", .field("endpoint", parts.endpoint.name),
                .field("error", failure))
        case .reachedEnd: break
        }
    }

    private var isStopping: Bool {
        switch phase {
        case .stopping, .stopped: true
        case .idle, .offered, .locating, .reading, .releasing: false
        }
    }

    /// Drops everything about the assigned partitions. Outcomes of their calls are dropped too.
    func forgetPartitions() {
        assignment += 1
        queue = WebhookQueue(eventsMax: parts.settings.eventsMax, callsMax: parts.settings.callsMax)
        partitions = [:]
        committedCursors = [:]
        openQueries = [:]
        client.close()
    }

    /// Takes over offered partitions, submits missing queries, or starts to read when none is missing. After a failure
    /// it tries again.
    func takeOver() {
        let now = Instant.now()
        guard now >= nextAttempt else { return }
        switch phase {
        case .offered(let offer):
            nextAttempt = now.advanced(byMilliseconds: Self.retryMilliseconds)
            do {
                try consumer.assignPaused(offer)
                locate(offer)
            } catch {
                parts.log.warning(
                    "partitions cannot be taken over now; the stage tries again", .field("error", error))
            }
        case .locating(let locator) where openQueries.isEmpty:
            let missing = locator.missingQueries
            if missing.isEmpty { return startReading(with: locator) }
            for query in missing { openQueries[consumer.submit(query)] = query.partitionCount }
        default: break
        }
    }

    private func locate(_ offer: [TopicPartition]) {
        let layout = parts.environment.layout
        phase = .locating(
            PartitionLocator(of: offer, for: parts.endpoint) { name in
                let topic = WebhookSource.allCases.map(\.topic).first { layout.name(of: $0) == name }
                return topic?.rawValue ?? name
            })
        nextAttempt = .now()
        takeOver()
    }

    /// Looks up the cursors again, because the topic has deleted records that were not read yet.
    private func locateAgain() {
        guard case .reading = phase else { return }
        let all = Array(partitions.keys)
        commitAndWait()
        forgetPartitions()
        parts.metrics.startedOver.add()
        consumer.pause(all)
        locate(all)
    }

    private func take(_ result: OffsetQueryResult, of id: OffsetQueryID) {
        guard case .locating(var locator) = phase, let awaited = openQueries[id] else { return }
        locator.add(result)
        phase = .locating(locator)
        let stillAwaited = awaited - result.partitionCount
        openQueries[id] = stillAwaited > 0 ? stillAwaited : nil
        if case .failed(_, let error) = result {
            parts.log.warning("positions cannot be looked up now", .field("error", error))
            nextAttempt = Instant.now().advanced(byMilliseconds: Self.retryMilliseconds)
        }
        takeOver()
    }

    private func startReading(with locator: PartitionLocator) {
        let layout = parts.environment.layout
        var starts: [TopicPartition: Int64] = [:]
        for partition in locator.partitions {
            guard
                let source = WebhookSource.allCases.first(where: {
                    layout.name(of: $0.topic) == partition.topic
                })
            else { continue }
            let cursor = locator.cursor(of: partition)
            let start = locator.start(of: partition, source: source, cursor: cursor)
            consumer.countSkippedOffsets(locator.skippedCount(of: partition))
            partitions[partition] = PartitionEvents(
                source, partition: partition.partition, of: parts.endpoint, cursor: cursor)
            starts[partition] = start
        }
        do {
            try consumer.startReading(at: starts)
            consumer.resume(locator.partitions)
            phase = .reading
            parts.onStep(.partitionsLocated)
        } catch {
            parts.log.warning("partitions cannot be read now; the stage tries again", .field("error", error))
            partitions = [:]
            nextAttempt = Instant.now().advanced(byMilliseconds: Self.retryMilliseconds)
        }
    }

    // MARK: Commits

    /// Returns the cursors that have changed since the last commit, and notes them as committed.
    private func takeChangedCursors() -> [OffsetToCommit] {
        let replay = parts.endpoint.replay?.requestedAt ?? 0
        var offsets: [OffsetToCommit] = []
        for (partition, events) in partitions {
            let cursor = CommittedCursor(events.cursor, replay: replay)
            if committedCursors[partition] == cursor { continue }
            committedCursors[partition] = cursor
            offsets.append(
                OffsetToCommit(partition: partition, offset: cursor.next, metadata: cursor.metadata))
        }
        return offsets
    }

    func commitAsynchronously() {
        guard case .reading = phase else { return }
        let offsets = takeChangedCursors()
        if offsets.isEmpty { return }
        let failure = consumer.commitAsynchronously(offsets)
        // The next commit tries all cursors again.
        if failure != nil { committedCursors = [:] }
        parts.onStep(.cursorsCommitted)
    }

    /// Commits before partitions are released. If it fails, their next owner sends some events again.
    func commitAndWait() {
        let offsets = takeChangedCursors()
        if !offsets.isEmpty { _ = consumer.commit(offsets, withinMilliseconds: Self.commitWaitMilliseconds) }
    }
}
