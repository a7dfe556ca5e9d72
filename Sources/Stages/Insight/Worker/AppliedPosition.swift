internal import Kafka
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The relation of a file to its partition, which may have deleted records since.
enum PartitionMatch: Equatable {
    case continues
    /// Only the marker of a transaction, or a record that the file has, was deleted.
    case nothingMissing
    /// Records reached the end of their retention before they were read. The rows of the file are right, and as old.
    case recordsExpired(OffsetGap)
    /// The file must be rebuilt.
    case differentTopic(OffsetGap)
}

/// The offset up to which a file has read its partition, and the record that identifies the topic.
struct AppliedPosition {
    let place: TopicPartition
    /// The offset of the next record that the file needs.
    private(set) var applied: Int64
    /// The value of `applied` after the taken records are written.
    private(set) var uncommitted: AppliedProgress
    private var identity: TopicIdentityCheck

    /// - Parameter found: The value in the file.
    init(_ place: TopicPartition, _ found: AppliedProgress?) {
        self.place = place
        uncommitted = found ?? AppliedProgress(offset: 0, completeUntil: .now())
        identity = TopicIdentityCheck(progress: found)
        applied = uncommitted.offset
    }

    /// Returns the offset at which reading continues.
    ///
    /// - Parameter low: the first offset of the partition.
    func start(from low: Int64) -> Int64 { identity.startOffset ?? max(uncommitted.offset, low) }

    /// Decides whether the file fits its partition as it is now.
    ///
    /// - Parameter isCompacted: whether the topic keeps the newest record of each key. Its retention deletes nothing that
    ///   a file needs, so a gap means that the file is of another topic.
    func match(ends: Watermarks, of topic: TopicName, isCompacted: Bool) -> PartitionMatch {
        if uncommitted.offset == 0 { return .continues }
        let gap = OffsetGap(partition: place, committed: uncommitted.offset, watermarks: ends)
        switch gap.assessment(for: topic) {
        case .inRange:
            if start(from: ends.low) >= ends.low { return .continues }
            // The record that identifies the topic was deleted, and the next one is there.
            return isCompacted ? .differentTopic(gap) : .nothingMissing
        case .transactionMarker: return .nothingMissing
        case .expired, .recordsLost: return isCompacted ? .differentTopic(gap) : .recordsExpired(gap)
        case .logIsShorter: return .differentTopic(gap)
        }
    }

    /// Goes on at the first record of the partition, without the record that identifies the topic.
    mutating func skip(to low: Int64) {
        uncommitted.offset = max(uncommitted.offset, low)
        uncommitted.lastRecord = nil
        identity = TopicIdentityCheck(progress: nil)
    }

    /// Checks the next record of the topic. It must see every record, in order.
    ///
    /// - Returns: False for a known record, which was read only to verify that the topic is the same.
    mutating func advance(past record: borrowing Kafka.Record) -> Bool {
        identity.check(key: record.key, value: record.value, offset: record.offset)
        guard record.offset >= uncommitted.offset else { return false }
        uncommitted.offset = record.offset + 1
        if let time = record.timestamp { uncommitted.completeUntil = WallTime(milliseconds: time) }
        return true
    }

    /// Notes that all records below the offset were read.
    mutating func advance(toEnd end: Int64) {
        identity.recordRead(upTo: end)
        uncommitted.offset = max(uncommitted.offset, end)
        uncommitted.completeUntil = .now()
    }

    /// Returns the value to write in the transaction of the rows. Throws if the topic is not the same.
    mutating func confirmed(path: String) throws(StoreError) -> AppliedProgress {
        uncommitted.lastRecord = try identity.confirmedRecord(path: path)
        return uncommitted
    }

    mutating func markCommitted() { applied = uncommitted.offset }
}
