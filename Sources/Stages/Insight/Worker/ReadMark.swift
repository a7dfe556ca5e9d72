internal import Kafka
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The relation of a file to its partition, which may have deleted records since.
enum ReadFit: Equatable {
    case readsOn
    /// Only the marker of a transaction, or a record that the file has, was deleted.
    case lacksNothing
    /// Records reached the end of their retention before they were read. The rows of the file are right, and as old.
    case lacksExpired(OffsetGap)
    /// The file must be rebuilt.
    case isOfAnotherTopic(OffsetGap)
}

/// The offset up to which a file has read its partition, and the record that identifies the topic.
struct ReadMark {
    let place: TopicPartition
    /// The offset of the next record that the file needs.
    private(set) var applied: Int64
    /// The value of `applied` after the taken records are written.
    private(set) var taken: Applied
    private var identity: TopicIdentity

    /// - Parameter found: The value in the file.
    init(_ place: TopicPartition, _ found: Applied?) {
        self.place = place
        taken = found ?? Applied(offset: 0, asOf: .now())
        identity = TopicIdentity(found)
        applied = taken.offset
    }

    /// Returns the offset at which reading continues.
    ///
    /// - Parameter low: the first offset of the partition.
    func start(from low: Int64) -> Int64 { identity.start ?? max(taken.offset, low) }

    /// Decides whether the file fits its partition as it is now.
    ///
    /// - Parameter isCompacted: whether the topic keeps the newest record of each key. Its retention deletes nothing that
    ///   a file needs, so a gap means that the file is of another topic.
    func fit(_ ends: Watermarks, of topic: TopicName, isCompacted: Bool) -> ReadFit {
        if taken.offset == 0 { return .readsOn }
        let gap = OffsetGap(place, committed: taken.offset, ends: ends)
        switch gap.verdict(of: topic) {
        case .inRange:
            if start(from: ends.low) >= ends.low { return .readsOn }
            // The record that identifies the topic was deleted, and the next one is there.
            return isCompacted ? .isOfAnotherTopic(gap) : .lacksNothing
        case .marker: return .lacksNothing
        case .expired, .recordsLost: return isCompacted ? .isOfAnotherTopic(gap) : .lacksExpired(gap)
        case .logIsShorter: return .isOfAnotherTopic(gap)
        }
    }

    /// Goes on at the first record of the partition, without the record that identifies the topic.
    mutating func skip(to low: Int64) {
        taken.offset = max(taken.offset, low)
        taken.last = nil
        identity = TopicIdentity(nil)
    }

    /// Checks the next record of the topic. It must see every record, in order.
    ///
    /// - Returns: False for a known record, which was read only to verify that the topic is the same.
    mutating func meet(_ record: borrowing Kafka.Record) -> Bool {
        identity.hear(record.key, record.value, offset: record.offset)
        guard record.offset >= taken.offset else { return false }
        taken.offset = record.offset + 1
        if let time = record.timestamp { taken.asOf = WallTime(milliseconds: time) }
        return true
    }

    /// Notes that all records below the offset were read.
    mutating func reached(_ end: Int64) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = .now()
    }

    /// Returns the value to write in the transaction of the rows. Throws if the topic is not the same.
    mutating func confirmed(_ path: String) throws(StoreError) -> Applied {
        taken.last = try identity.confirmed(path)
        return taken
    }

    mutating func entered() { applied = taken.offset }
}
