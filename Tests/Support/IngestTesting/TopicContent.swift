package import Kafka
internal import Lifecycle
internal import Telemetry
package import Topics

/// A copy of a record that a test read from a topic.
package struct ReadRecord: Sendable, Equatable {
    package var partition: Int32
    package var offset: Int64
    /// The record's timestamp in milliseconds since 1970.
    package var timestamp: Int64
    package var key: [UInt8]?
    package var value: [UInt8]?
    package var headers: [String: String]
}

/// All records of a topic, as a read-committed consumer sees them.
package struct TopicContent {
    package private(set) var records: [ReadRecord] = []

    package struct EndNotReached: Error {}

    /// The time limit without a new record before the end.
    private static let silenceMillisecondsMax = 60_000

    /// Reads the complete topic into memory.
    package init(of topic: TopicName, in bed: TestBed) throws {
        var records: [ReadRecord] = []
        try Self.forEachRecord(of: topic, in: bed) { records.append(ReadRecord($0)) }
        self.records = records
    }

    /// Reads every partition up to its end, and waits for open transactions.
    ///
    /// - Parameter withAborted: Whether it also reads records of aborted transactions.
    package static func forEachRecord(
        of topic: TopicName, in bed: TestBed, withAborted: Bool = false,
        do body: (borrowing Record) throws -> Void
    ) throws {
        let name = bed.layout.name(of: topic)
        var options = ConsumerOptions(membership: .manual)
        options.readsOpenTransactions = withAborted
        let consumer = try Consumer(
            settings: bed.settings, options: options, name: "judge", log: .silent, metrics: Metrics())
        defer { _ = consumer.close() }
        let partitions = (0..<Int32(bed.layout.partitionCount(of: topic))).map { TopicPartition(name, $0) }
        try consumer.assign(
            startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
        var unfinishedPartitions = Set(partitions)
        var batch = RecordBatch()
        var deadline = Instant.now().advanced(byMilliseconds: silenceMillisecondsMax)
        while !unfinishedPartitions.isEmpty {
            guard Instant.now() < deadline else { throw EndNotReached() }
            let events = consumer.poll(into: &batch, waitMilliseconds: 100)
            for index in 0..<batch.count { try body(batch[index]) }
            if !batch.isEmpty { deadline = Instant.now().advanced(byMilliseconds: silenceMillisecondsMax) }
            // Before an open transaction the consumer also reports an end, which lies below the high watermark.
            for case .reachedEnd(let partition, let offset) in events {
                if let watermarks = consumer.knownWatermarks(of: partition), offset >= watermarks.high {
                    unfinishedPartitions.remove(partition)
                }
            }
            batch.clear()
        }
    }

    /// The newest value of each key that has a value.
    package var newestValues: [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        for record in records { rows[record.key ?? []] = record.value }
        return rows
    }

    /// The positions at which the dead letters were read, as partition/offset. Only for the content of `deadLetters`.
    package var deadLetterPositions: Set<String> {
        Set(
            records.map { deadLetter in
                let partition = deadLetter.headers["flotilla-dead-partition"] ?? ""
                let offset = deadLetter.headers["flotilla-dead-offset"] ?? ""
                return "\(partition)/\(offset)"
            })
    }
}

extension ReadRecord {
    package init(_ record: borrowing Record) {
        partition = record.partition
        offset = record.offset
        timestamp = record.timestamp ?? 0
        key = [UInt8](copying: record.key)
        value = [UInt8](copying: record.value)
        headers = [:]
        let list = record.headers
        for index in 0..<list.count {
            let name = String(decoding: [UInt8](copying: list[index].name), as: UTF8.self)
            headers[name] = String(decoding: [UInt8](copying: list[index].value) ?? [], as: UTF8.self)
        }
    }
}
