package import Kafka
internal import Lifecycle
package import Telemetry

/// A reader of the first unread record of each group in each partition. The age of that record is the age of
/// the group's lag. It reads all positions in one pass, and is used on one thread only.
package final class UnreadRecordReader {
    /// The position in a partition at which a group continues.
    package struct GroupPosition: Hashable {
        package let partition: TopicPartition
        /// The next offset, or nil for the beginning.
        package let offset: Int64?

        package init(partition: TopicPartition, offset: Int64?) {
            (self.partition, self.offset) = (partition, offset)
        }

        package init(of lag: GroupLag) {
            self.init(partition: lag.committed.partition, offset: lag.committed.offset)
        }

        /// Whether this position comes before another one of the partition. The beginning comes before every offset.
        func precedes(_ other: GroupPosition) -> Bool {
            guard let otherOffset = other.offset else { return false }
            return offset.map { $0 < otherOffset } ?? true
        }

        var start: PartitionStart {
            PartitionStart(partition: partition, position: offset.map { .offset($0) } ?? .beginning)
        }
    }

    /// The result of one pass. A position that was not reached in time is in neither collection.
    package struct UnreadRecords: Equatable {
        /// The times at which the first waiting records were written, in milliseconds since 1970.
        package var oldest: [GroupPosition: Int64] = [:]
        /// The positions without waiting records. Transaction markers may be there, but consumers never see
        /// them.
        package var caughtUp: Set<GroupPosition> = []

        package init(oldest: [GroupPosition: Int64] = [:], caughtUp: Set<GroupPosition> = []) {
            (self.oldest, self.caughtUp) = (oldest, caughtUp)
        }
    }

    /// The limit of positions in one pass. Those with the most unread records are read.
    private static let positionsMax = 1000
    /// The limit of the whole pass.
    private static let readMilliseconds = 500
    private static let pollMilliseconds: Int32 = 50

    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 1000, bytesMax: 4 << 20)

    package init(settings: KafkaSettings, log: Log) throws {
        var options = ConsumerOptions(membership: .manual)
        // The group's next record may have been deleted. Then the oldest remaining record is its first
        // waiting one.
        options.outOfRange = .earliest
        // Only one record per partition is needed.
        options.prefetchKibibytesMax = 1024
        options.fetchKibibytesMax = 4096
        options.partitionKibibytesMax = 16
        options.fetchWaitMilliseconds = Int(Self.pollMilliseconds)
        consumer = try Consumer(
            settings: settings, options: options, name: "waiting", log: log, metrics: Metrics())
    }

    /// - Parameter lags: The lags of any groups. Several groups may read one partition, each at its own
    ///   position.
    package func readOldest(of lags: [GroupLag]) throws -> UnreadRecords {
        let largestLags = lags.filter { $0.recordCount > 0 }.sorted { $0.recordCount > $1.recordCount }
            .prefix(Self.positionsMax)
        return try readOldest(at: Set(largestLags.map(GroupPosition.init)))
    }

    /// Reads until each position is reached or its partition has ended, or until the time is over.
    package func readOldest(at positions: Set<GroupPosition>) throws -> UnreadRecords {
        // The positions that are not reached yet, in each partition the lowest first.
        var remaining = Dictionary(grouping: positions, by: \.partition)
            .mapValues { $0.sorted { $0.precedes($1) } }
        if remaining.isEmpty { return UnreadRecords() }
        try consumer.assign(startingAt: remaining.values.map { $0[0].start })
        defer { try? consumer.release() }
        var unread = UnreadRecords()
        let deadline = Instant.now().advanced(byMilliseconds: Self.readMilliseconds)
        while !remaining.isEmpty, Instant.now() < deadline {
            /// The partitions without further positions or records.
            var ended: Set<TopicPartition> = []
            /// The partitions in which a position was reached.
            var reached: Set<TopicPartition> = []
            for event in consumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds) {
                if case .reachedEnd(let partition, _) = event { ended.insert(partition) }
            }
            for index in 0..<batch.count {
                let partition = TopicPartition(consumer.topics[batch[index].topic], batch[index].partition)
                guard let time = batch[index].timestamp else { continue }
                let offset = batch[index].offset
                while let first = remaining[partition]?.first, offset >= first.offset ?? 0 {
                    unread.oldest[first] = time
                    remaining[partition]?.removeFirst()
                    reached.insert(partition)
                }
            }
            batch.clear()
            for partition in reached where remaining[partition]?.isEmpty == true { ended.insert(partition) }
            // Positions that remain at the end of a partition have no record behind them.
            for partition in ended {
                unread.caughtUp.formUnion(remaining.removeValue(forKey: partition) ?? [])
            }
            consumer.pause(Array(ended))
            // The next position of a partition may be far ahead, so the reader goes there without the records
            // in between.
            let next = reached.compactMap { remaining[$0]?.first?.start }
            if !next.isEmpty { try consumer.seek(to: next, withinMilliseconds: Self.readMilliseconds) }
        }
        return unread
    }
}
