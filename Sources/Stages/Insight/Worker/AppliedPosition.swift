internal import Kafka
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The offset up to which a file has read its partition. It also verifies that the topic is still the one that
/// the file was made from, by the last record that the file has read (`TopicIdentityCheck`).
struct AppliedPosition {
    let partition: TopicPartition
    /// The offset of the next record that the file needs, as it is on disk.
    private(set) var committedOffset: Int64
    /// The same after the records that were taken since.
    private(set) var uncommittedProgress: AppliedProgress
    private var identity: TopicIdentityCheck

    /// - Parameter stored: The value in the file, or nil for an empty file.
    init(of partition: TopicPartition, stored: AppliedProgress?) {
        self.partition = partition
        uncommittedProgress = stored ?? AppliedProgress(offset: 0, completeUntil: .now())
        identity = TopicIdentityCheck(progress: stored)
        committedOffset = uncommittedProgress.offset
    }

    /// Returns the offset at which reading continues.
    ///
    /// - Parameter low: The first offset of the partition.
    func startOffset(from low: Int64) -> Int64 {
        identity.startOffset ?? max(uncommittedProgress.offset, low)
    }

    /// Compares the file with its partition as it is now.
    ///
    /// - Parameters:
    ///   - ends: The first offset and the end of the partition.
    ///   - isCompacted: Whether the topic keeps the newest record of each key. Its retention deletes nothing
    ///     that a file needs, so a gap means that the file is of another topic.
    func match(ends: Watermarks, of topic: TopicName, isCompacted: Bool) -> PartitionMatch {
        if uncommittedProgress.offset == 0 { return .continues }
        let gap = OffsetGap(partition: partition, committed: uncommittedProgress.offset, watermarks: ends)
        switch gap.assessment(for: topic) {
        case .inRange:
            if startOffset(from: ends.low) >= ends.low { return .continues }
            // The record that identifies the topic was deleted, and the next one is there.
            return isCompacted ? .differentTopic(gap) : .nothingMissing
        case .transactionMarker: return .nothingMissing
        case .expired, .recordsLost: return isCompacted ? .differentTopic(gap) : .recordsExpired(gap)
        case .logIsShorter: return .differentTopic(gap)
        }
    }

    /// Continues at the first record of the partition, without the record that identifies the topic.
    mutating func skip(to low: Int64) {
        uncommittedProgress.offset = max(uncommittedProgress.offset, low)
        uncommittedProgress.lastRecord = nil
        identity = TopicIdentityCheck(progress: nil)
    }

    /// Moves past the next record of the topic. It must see every record, in order.
    ///
    /// - Returns: False for a known record, which was read only to verify that the topic is the same.
    mutating func advance(past record: borrowing Kafka.Record) -> Bool {
        identity.check(key: record.key, value: record.value, offset: record.offset)
        guard record.offset >= uncommittedProgress.offset else { return false }
        uncommittedProgress.offset = record.offset + 1
        if let time = record.timestamp { uncommittedProgress.completeUntil = WallTime(milliseconds: time) }
        return true
    }

    /// Notes that all records below the offset were read.
    mutating func advance(toEnd end: Int64) {
        identity.recordRead(upTo: end)
        uncommittedProgress.offset = max(uncommittedProgress.offset, end)
        uncommittedProgress.completeUntil = .now()
    }

    /// Returns the value to write in the transaction of the rows. Throws if the topic is not the same.
    mutating func confirmed(path: String) throws(StoreError) -> AppliedProgress {
        uncommittedProgress.lastRecord = try identity.confirmedRecord(path: path)
        return uncommittedProgress
    }

    mutating func markCommitted() { committedOffset = uncommittedProgress.offset }
}

/// The relation of a file to its partition, which may have deleted records since.
enum PartitionMatch: Equatable {
    /// The next record of the file is there.
    case continues
    /// Only the marker of a transaction, or a record that the file has, was deleted.
    case nothingMissing
    /// Records reached the end of their retention before they were read. The rows of the file are right, but
    /// lack these records.
    case recordsExpired(OffsetGap)
    /// The partition is of another topic than the file. The file must be rebuilt.
    case differentTopic(OffsetGap)
}
