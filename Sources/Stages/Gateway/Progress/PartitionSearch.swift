internal import Kafka
internal import Lifecycle

/// The search for records in one partition, without an index: first from a time onwards, then backwards in
/// growing steps. It blocks its thread.
final class PartitionSearch {
    /// The clock difference between gateways that the search tolerates.
    private static let marginMilliseconds: Int64 = 60_000
    /// The number of records in the first step backwards.
    private static let firstStepRecords: Int64 = 20_000
    /// The factor by which each further step backwards reads more records than the step before.
    private static let stepGrowth: Int64 = 10
    /// The time without a search after which the consumer is closed, because it has four threads of its own.
    private static let idleMilliseconds = 60_000
    private static let closeMillisecondsMax = 500
    private static let pollMilliseconds: Int32 = 20
    /// The least time that a request to the cluster gets, also when the deadline is near.
    private static let requestMillisecondsMin = 100

    private let cluster: Cluster
    private let context: ServiceContext
    private var idleTimer: LoopTimer?
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: 10_000)

    init(cluster: Cluster, context: ServiceContext, on loop: EventLoop) {
        self.cluster = cluster
        self.context = context
        idleTimer = LoopTimer(on: loop) { [unowned self] in disconnect() }
    }

    /// Reads the partition from the time of `searchStart` onwards. If no record matched, then reads backwards from
    /// there, if `searchStart` allows it. A start without a time only reads backwards, from the end.
    ///
    /// - Parameters:
    ///   - visit: Receives each record. Returns true if no further record is needed.
    ///   - isFound: Returns whether a visited record matched.
    /// - Returns: Whether every record that could match was read before the deadline.
    func run(
        in partition: TopicPartition, from searchStart: SearchStart, until deadline: Instant,
        visit: (borrowing Kafka.Record) -> Bool, isFound: () -> Bool
    ) throws -> Bool {
        let watermarks = try openConsumer().watermarks(
            of: partition, withinMilliseconds: remainingMilliseconds(until: deadline))
        var start = watermarks.high
        if let time = searchStart.time {
            start = try offset(at: time, in: partition, until: deadline) ?? watermarks.high
            let isComplete = try read(
                partition, from: start, to: watermarks.high, until: deadline, visit: visit)
            let searchesBackwards = isComplete && !isFound() && searchStart.mayBeEarlier
            if !searchesBackwards { return isComplete }
        }
        var stepRecords = Self.firstStepRecords
        while start > watermarks.low {
            let stepStart = max(watermarks.low, start - stepRecords)
            guard try read(partition, from: stepStart, to: start, until: deadline, visit: visit) else {
                return false
            }
            if isFound() {
                // `visit` may have ignored records after the match, because it did not know the match yet.
                return try read(
                    partition, from: stepStart, to: watermarks.high, until: deadline, visit: visit)
            }
            start = stepStart
            stepRecords *= Self.stepGrowth
        }
        return true
    }

    /// Returns the offset of the first record at or after a time, or nil without such a record.
    private func offset(
        at time: Int64, in partition: TopicPartition, until deadline: Instant
    ) throws -> Int64? {
        let offsets = try openConsumer().offsets(
            atMilliseconds: max(0, time - Self.marginMilliseconds), in: [partition],
            withinMilliseconds: remainingMilliseconds(until: deadline))
        return offsets[partition] ?? nil
    }

    /// Reads the records from `start` to `end`, or until `visit` returns true. Returns false if the deadline
    /// came first.
    private func read(
        _ partition: TopicPartition, from start: Int64, to end: Int64, until deadline: Instant,
        visit: (borrowing Kafka.Record) -> Bool
    ) throws -> Bool {
        guard start < end else { return true }
        let consumer = try openConsumer()
        try consumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(start))])
        defer { try? consumer.release() }
        while Instant.now() < deadline {
            let events = consumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds)
            defer { batch.clear() }
            for index in 0..<batch.count {
                if batch[index].offset >= end { return true }
                let needsNoFurtherRecord = visit(batch[index])
                if needsNoFurtherRecord { return true }
            }
            // The batch ended exactly before `end`.
            if (consumer.position(in: partition) ?? start) >= end { return true }
            for event in events {
                switch event {
                case .reachedEnd: return true
                case .failed(.unusable(let error)): throw error
                default: break
                }
            }
        }
        return false
    }

    private func remainingMilliseconds(until deadline: Instant) -> Int {
        max(Self.requestMillisecondsMin, deadline.milliseconds(since: .now()))
    }

    // MARK: The consumer

    private func openConsumer() throws -> Consumer {
        if let consumer { return consumer }
        var options = ConsumerOptions(membership: .manual)
        // The end of the partition shows only when a fetch returns empty, so fetches must return quickly.
        options.fetchWaitMilliseconds = 10
        // If retention deletes the first records of a step meanwhile, the others are read.
        options.outOfRange = .earliest
        let newConsumer = try Consumer(
            settings: cluster.settings, options: options, name: "gateway-lookups", log: context.log,
            metrics: context.metrics)
        consumer = newConsumer
        return newConsumer
    }

    /// Closes the consumer after a pause, unless another search begins before.
    func disconnectWhenIdle() {
        idleTimer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.idleMilliseconds))
    }

    /// Forgets a consumer that has failed. The next search opens a new one.
    func dropConsumer() { consumer = nil }

    func close() {
        idleTimer?.cancel()
        disconnect()
    }

    private func disconnect() {
        batch.clear()
        _ = consumer?.close(withinMilliseconds: Self.closeMillisecondsMax)
        consumer = nil
    }
}
