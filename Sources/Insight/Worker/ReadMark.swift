internal import Kafka
internal import Store
internal import Telemetry

/// The offset up to which a file has read its partition, and the record that identifies the topic.
struct ReadMark {
    let place: Kafka.TopicPartition
    /// The offset of the next record that the file needs.
    private(set) var applied: Int64
    /// The value of `applied` after the taken records are written.
    private(set) var taken: Applied
    private var identity: TopicIdentity

    /// - Parameter found: The value in the file.
    init(_ place: Kafka.TopicPartition, _ found: Applied?) {
        self.place = place
        taken = found ?? Applied(offset: 0, asOf: .now())
        identity = TopicIdentity(found)
        applied = taken.offset
    }

    var start: PartitionStart {
        PartitionStart(place, applied > 0 ? .offset(identity.start ?? applied) : .beginning)
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
