internal import Kafka
internal import Store
internal import Telemetry

/// How far a file has read its partition, and the record by which it knows the topic again.
struct ReadMark {
    let place: Kafka.TopicPartition
    /// The next offset of the topic that the file wants.
    private(set) var applied: Int64
    /// What will be so when what was taken has been entered.
    private(set) var taken: Applied
    private var identity: TopicIdentity

    /// - Parameter found: as the file has it.
    init(_ place: Kafka.TopicPartition, _ found: Applied?) {
        self.place = place
        taken = found ?? Applied(offset: 0, asOf: .now())
        identity = TopicIdentity(found)
        applied = taken.offset
    }

    var start: PartitionStart {
        PartitionStart(place, applied > 0 ? .offset(identity.start ?? applied) : .beginning)
    }

    /// Every record of the topic, in its order.
    ///
    /// - Returns: false for one that is known already: it came to show that the topic is the same.
    mutating func meet(_ record: borrowing Kafka.Record) -> Bool {
        identity.hear(record.key, record.value, offset: record.offset)
        guard record.offset >= taken.offset else { return false }
        taken.offset = record.offset + 1
        if let time = record.timestamp { taken.asOf = WallTime(milliseconds: time) }
        return true
    }

    /// Everything below the offset has been met.
    mutating func reached(_ end: Int64) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = .now()
    }

    /// What belongs into the transaction with the rows; throws when the topic is another one.
    mutating func confirmed(_ path: String) throws(StoreError) -> Applied {
        taken.last = try identity.confirmed(path)
        return taken
    }

    mutating func entered() { applied = taken.offset }
}
