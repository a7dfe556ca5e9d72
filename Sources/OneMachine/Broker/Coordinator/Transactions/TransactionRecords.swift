internal import Telemetry

/// The records of the transactions' topic, which store transactional ids and the reserved producer ids
/// (see `CoordinatorRecord` for the format). A reader skips unknown kinds and format versions.
enum TransactionRecords {
    // The kinds of keys: the first has a transactional id as its name, and the second has no name.
    static let transactionKind: Int16 = 1
    static let producerIDsKind: Int16 = 2

    static let formatVersion: Int16 = 1

    static func transaction(id: String, facts: TransactionFacts) -> CoordinatorRecord {
        CoordinatorRecord(key: key(id: id), value: value(of: facts))
    }

    static func transactionRemoved(id: String) -> CoordinatorRecord {
        CoordinatorRecord(key: key(id: id), value: nil)
    }

    /// Returns a record that says that producer ids below `end` may have been given out.
    static func producerIDs(reservedBelow end: Int64) -> CoordinatorRecord {
        CoordinatorRecord(
            key: CoordinatorRecord.key(kind: producerIDsKind) { _ in },
            value: CoordinatorRecord.value(formatVersion: formatVersion) { writer in writer.int64(end) })
    }

    private static func key(id: String) -> [UInt8] {
        CoordinatorRecord.key(kind: transactionKind) { writer in writer.string(id) }
    }

    private static func value(of facts: TransactionFacts) -> [UInt8] {
        CoordinatorRecord.value(formatVersion: formatVersion) { writer in
            writer.int64(facts.producerID)
            writer.int16(facts.epoch)
            writer.int64(facts.previousProducerID)
            writer.int16(facts.previousEpoch)
            writer.int32(facts.timeoutMilliseconds)
            writer.int8(facts.state.rawValue)
            writer.int64(facts.startedAt?.milliseconds ?? -1)
            writer.int64(facts.updatedAt.milliseconds)
            writer.array(facts.partitions.sorted()) { writer, partition in
                writer.string(partition.topic)
                writer.int32(partition.partition)
            }
            writer.array(facts.groups.sorted()) { writer, group in writer.string(group) }
        }
    }

    /// Returns nil for a version or a state that this release does not know.
    static func facts(from value: [UInt8]) throws(WireError) -> TransactionFacts? {
        try WireReader.read(value, encoding: .compact) { (reader) throws(WireError) in
            guard try reader.int16() == formatVersion else { return nil }
            let producerID = try reader.int64()
            let epoch = try reader.int16()
            let previousProducerID = try reader.int64()
            let previousEpoch = try reader.int16()
            let timeoutMilliseconds = try reader.int32()
            guard let state = TransactionState(rawValue: try reader.int8()) else { return nil }
            let startedAt = try reader.int64()
            let updatedAt = try reader.int64()
            let partitions = try reader.array { (reader) throws(WireError) in
                PartitionID(topic: try reader.string(), partition: try reader.int32())
            }
            let groups = try reader.array { (reader) throws(WireError) in try reader.string() }
            return TransactionFacts(
                producerID: producerID, epoch: epoch, previousProducerID: previousProducerID,
                previousEpoch: previousEpoch, timeoutMilliseconds: timeoutMilliseconds, state: state,
                partitions: Set(partitions), groups: Set(groups),
                startedAt: startedAt < 0 ? nil : WallTime(milliseconds: startedAt),
                updatedAt: WallTime(milliseconds: updatedAt))
        }
    }
}
