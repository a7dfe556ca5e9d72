internal import JSON
internal import Kafka
internal import Store
internal import Telemetry

/// The files of one lane, one for each topic. After an error in one file, all files are closed and later
/// opened again. Records that were not written are then read again.
final class LaneFiles {
    let partition: Int32
    let receiptFile: ReceiptFile
    let eventFile: EventFile
    /// All files, in the order of `InsightTopic`.
    let files: [any LaneFile]
    /// The newest stamp of the cluster in this lane. The age of rows is measured by it, and not by this
    /// machine's clock.
    private(set) var newestStamp: Int64 = 0
    private(set) var hasUncommittedChanges = false
    /// Whether all existing records of each topic were read, as far as the cluster reported.
    private(set) var isAtEnd: [Bool]
    /// The first offset of each topic's partition. Nil for a partition that is not read yet.
    private var firstOffsets: [Int64?]

    /// - Parameter rows: The files of all topics except receipts and events.
    init(partition: Int32, receipts: ReceiptFile, events: EventFile, rows: [RowFile]) {
        self.partition = partition
        self.receiptFile = receipts
        self.eventFile = events
        files = [receipts, events] + rows
        isAtEnd = files.map { _ in false }
        firstOffsets = files.map { _ in nil }
    }

    /// The offsets at which reading continues, for the partitions that are read.
    var startOffsets: [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for case (let file, let low?) in zip(files, firstOffsets) {
            offsets[file.position.partition] = file.position.startOffset(from: low)
        }
        return offsets
    }

    /// Whether the partition of a topic is read.
    func isReading(_ topic: InsightTopic) -> Bool { firstOffsets[topic.rawValue] != nil }

    /// Notes that a topic is read.
    ///
    /// - Parameter low: The first offset of its partition.
    func startReading(_ topic: InsightTopic, from low: Int64) { firstOffsets[topic.rawValue] = low }

    /// Notes that a topic is not read until its ends are known.
    func stopReading(_ topic: InsightTopic) { firstOffsets[topic.rawValue] = nil }

    /// Continues after records that the topic has deleted.
    func skip(_ topic: InsightTopic, to low: Int64) {
        hasUncommittedChanges = true
        files[topic.rawValue].position.skip(to: low)
    }

    /// Takes a record of one of the topics.
    ///
    /// - Returns: The outcome of the record, for the metrics.
    func apply(
        _ record: borrowing Kafka.Record, of topic: InsightTopic, with reader: JSONReader
    ) throws -> RecordOutcome {
        hasUncommittedChanges = true
        newestStamp = max(newestStamp, record.timestamp ?? 0)
        isAtEnd[topic.rawValue] = false
        let file = files[topic.rawValue]
        guard file.position.advance(past: record) else { return .known }
        return try file.apply(record, with: reader)
    }

    /// Notes that all records of a topic below `end` were read.
    func recordEnd(_ end: Int64, of topic: InsightTopic) {
        hasUncommittedChanges = true
        isAtEnd[topic.rawValue] = true
        files[topic.rawValue].position.advance(toEnd: end)
    }

    /// Returns the offset of the next record that a topic's file needs.
    func appliedOffset(of topic: InsightTopic) -> Int64 { files[topic.rawValue].position.committedOffset }

    /// Returns the time up to which the files are complete, in milliseconds since 1970. A file at the end of
    /// its topic is complete until now.
    func asOf(now: Int64) -> Int64 {
        zip(files, isAtEnd).map { $1 ? now : $0.position.uncommittedProgress.completeUntil.milliseconds }
            .min() ?? 0
    }

    func markCommitted() { hasUncommittedChanges = false }

    func close() throws {
        for file in files { try file.close() }
    }
}
