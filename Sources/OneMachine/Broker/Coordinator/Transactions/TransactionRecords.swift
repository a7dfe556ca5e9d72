internal import Telemetry

/// The records of the transactions' topic, in the form of `GroupRecords`.
enum TransactionRecords {
    static let transactionKind: Int16 = 1
    static let producerIDsKind: Int16 = 2
    static let version: Int16 = 1

    static func transaction(id: String, facts: TransactionFacts) -> CoordinatorRecord {
        CoordinatorRecord(key: key(id: id), value: value(of: facts))
    }

    static func removed(id: String) -> CoordinatorRecord { CoordinatorRecord(key: key(id: id), value: nil) }

    /// Returns a record that says that producer ids below `end` may have been given out.
    static func producerIDs(end: Int64) -> CoordinatorRecord {
        var writer = WireWriter(capacity: 64, flexible: true)
        writer.int16(producerIDsKind)
        let key = writer.copied()
        writer.reset()
        writer.int16(version)
        writer.int64(end)
        return CoordinatorRecord(key: key, value: writer.copied())
    }

    private static func key(id: String) -> [UInt8] {
        var writer = WireWriter(capacity: 64, flexible: true)
        writer.int16(transactionKind)
        writer.string(id)
        return writer.copied()
    }

    private static func value(of facts: TransactionFacts) -> [UInt8] {
        var writer = WireWriter(capacity: 256, flexible: true)
        writer.int16(version)
        writer.int64(facts.producerID)
        writer.int16(facts.epoch)
        writer.int64(facts.lastProducerID)
        writer.int16(facts.lastEpoch)
        writer.int32(facts.timeoutMilliseconds)
        writer.int8(facts.state.rawValue)
        writer.int64(facts.startedAt?.milliseconds ?? -1)
        writer.int64(facts.updatedAt.milliseconds)
        writer.array(facts.partitions.sorted()) { writer, partition in
            writer.string(partition.topic)
            writer.int32(partition.partition)
        }
        writer.array(facts.groups.sorted()) { writer, group in writer.string(group) }
        return writer.copied()
    }

    /// Returns nil for a version or a state that this release does not know.
    static func facts(from value: [UInt8]) throws(WireError) -> TransactionFacts? {
        try WireReader.read(value, flexible: true) { (reader) throws(WireError) in
            guard try reader.int16() == version else { return nil }
            let producerID = try reader.int64()
            let epoch = try reader.int16()
            let lastProducerID = try reader.int64()
            let lastEpoch = try reader.int16()
            let timeout = try reader.int32()
            guard let state = TransactionState(rawValue: try reader.int8()) else { return nil }
            let started = try reader.int64()
            let updated = try reader.int64()
            let partitions = try reader.array { (reader) throws(WireError) in
                TopicPartition(topic: try reader.string(), partition: try reader.int32())
            }
            let groups = try reader.array { (reader) throws(WireError) in try reader.string() }
            return TransactionFacts(
                producerID: producerID, epoch: epoch, lastProducerID: lastProducerID, lastEpoch: lastEpoch,
                timeoutMilliseconds: timeout, state: state, partitions: Set(partitions), groups: Set(groups),
                startedAt: started < 0 ? nil : WallTime(milliseconds: started),
                updatedAt: WallTime(milliseconds: updated))
        }
    }
}
