package import Kafka
internal import Lifecycle
internal import Telemetry

/// A reader of partitions from a start to their present end, for commands. A consumer starts slowly, so finished
/// consumers are reused for the next partition.
///
/// Confined to one thread. A scan may start another scan.
package final class TopicScanner {
    /// The time without a record after which the cluster counts as unreachable.
    package static let idleMillisecondsMax = 60_000
    private static let requestMilliseconds = 15_000
    /// The limit of records in one batch.
    private static let recordsMax = 10_000
    private static let pollMilliseconds: Int32 = 100

    private let settings: KafkaSettings
    private var idleConsumers: [Consumer] = []

    package init(_ settings: KafkaSettings) { self.settings = settings }

    /// The start of a scan.
    package enum Start: Sendable {
        case beginning
        case offset(Int64)
        /// Milliseconds since 1970, by the cluster's clock.
        case time(Int64)
    }

    /// Thrown by a callback that needs no more records.
    struct StopScan: Error {}

    /// Reads the records that exist at the time of the call, in order. Returns the offset after the last one.
    @discardableResult
    package func read(
        _ partition: TopicPartition, from start: Start = .beginning,
        each: (borrowing Kafka.Record) throws -> Void
    ) throws -> Int64 {
        let consumer = try idleConsumers.popLast() ?? makeConsumer()
        let end = try read(partition, from: start, with: consumer, each: each)
        try consumer.release()
        idleConsumers.append(consumer)
        return end
    }

    /// Returns the current end of a partition.
    func end(of partition: TopicPartition) throws -> Int64 {
        let consumer = try idleConsumers.popLast() ?? makeConsumer()
        defer { idleConsumers.append(consumer) }
        return try consumer.watermarks(of: partition, withinMilliseconds: Self.requestMilliseconds).high
    }

    private func makeConsumer() throws -> Consumer {
        var options = ConsumerOptions(membership: .manual)
        options.outOfRange = .earliest
        // The end of the partition shows only when a fetch returns empty, so fetches must return quickly.
        options.fetchWaitMilliseconds = 10
        return try Consumer(
            settings: settings, options: options, name: "scan", log: .silent, metrics: Metrics())
    }

    private func read(
        _ partition: TopicPartition, from start: Start, with consumer: Consumer,
        each: (borrowing Kafka.Record) throws -> Void
    ) throws -> Int64 {
        let watermarks = try consumer.watermarks(of: partition, withinMilliseconds: Self.requestMilliseconds)
        var next = try firstOffset(of: partition, from: start, watermarks: watermarks, consumer: consumer)
        guard next < watermarks.high else { return watermarks.high }
        try consumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(next))])
        var batch = RecordBatch(recordsMax: Self.recordsMax)
        defer { batch.clear() }
        var deadline = Self.idleDeadline()
        while next < watermarks.high {
            let events = consumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds)
            for index in 0..<batch.count where batch[index].offset < watermarks.high {
                do { try each(batch[index]) } catch is StopScan { return next }
                next = batch[index].offset + 1
            }
            if !batch.isEmpty { deadline = Self.idleDeadline() }
            for event in events {
                switch event {
                // The end of the readable records can be before the high watermark, because the records of an
                // open transaction are not readable yet.
                case .reachedEnd(let ended, let offset) where ended == partition: return max(next, offset)
                case .failed(.outOfRange(_, let text)): throw failure(reading: partition, reason: text)
                case .failed(.unusable(let error)): throw error
                case .reachedEnd, .failed, .offered, .revoked, .lost, .suspended, .committed, .queryCompleted:
                    break
                }
            }
            guard Instant.now() < deadline else {
                throw failure(
                    reading: partition,
                    reason:
                        "no record arrived for \(Self.idleMillisecondsMax / 1000) s; check that the brokers run"
                )
            }
        }
        return next
    }

    private func firstOffset(
        of partition: TopicPartition, from start: Start, watermarks: Watermarks, consumer: Consumer
    ) throws -> Int64 {
        switch start {
        case .beginning: return watermarks.low
        case .offset(let offset): return max(offset, watermarks.low)
        case .time(let time):
            if watermarks.low == watermarks.high { return watermarks.high }
            // No offset means that all records are older.
            let offsets = try consumer.offsets(
                atMilliseconds: max(0, time), in: [partition], withinMilliseconds: Self.requestMilliseconds)
            return max(offsets[partition].flatMap { $0 } ?? watermarks.high, watermarks.low)
        }
    }

    private static func idleDeadline() -> Instant {
        Instant.now().advanced(byMilliseconds: idleMillisecondsMax)
    }

    private func failure(reading partition: TopicPartition, reason text: String) -> ReplayFailure {
        ReplayFailure(exitStatus: .unavailable, description: "cannot read \(partition) to its end: \(text)")
    }
}
