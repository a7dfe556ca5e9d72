internal import Telemetry

/// The records of the groups' topic, which store groups and their offsets (see `CoordinatorRecord` for the
/// format). A reader skips unknown kinds and format versions.
enum GroupRecords {
    /// The kinds of keys, each with the names that follow it in the key.
    enum Kind: Int16 {
        /// Group, topic and partition.
        case offset = 1
        /// Group.
        case group = 2
        /// Group, topic, partition and producer id.
        case pendingOffset = 3
    }

    static let formatVersion: Int16 = 1

    static func offset(
        group: String, partition: PartitionID, offset: CommittedOffset
    ) -> CoordinatorRecord {
        CoordinatorRecord(
            key: offsetKey(group: group, partition: partition),
            value: value { writer in write(offset, to: &writer) })
    }

    static func offsetRemoved(group: String, partition: PartitionID) -> CoordinatorRecord {
        CoordinatorRecord(key: offsetKey(group: group, partition: partition), value: nil)
    }

    static func pendingOffset(
        group: String, partition: PartitionID, offset: CommittedOffset, producer: Int64,
        epoch: Int16
    ) -> CoordinatorRecord {
        CoordinatorRecord(
            key: pendingKey(group: group, partition: partition, producer: producer),
            value: value { writer in
                write(offset, to: &writer)
                writer.int16(epoch)
            })
    }

    static func pendingOffsetRemoved(
        group: String, partition: PartitionID, producer: Int64
    ) -> CoordinatorRecord {
        CoordinatorRecord(key: pendingKey(group: group, partition: partition, producer: producer), value: nil)
    }

    static func groupRemoved(id: String) -> CoordinatorRecord {
        CoordinatorRecord(key: groupKey(id: id), value: nil)
    }

    /// With `assigned`, the members' assignments hold from this record on, even if the group's state
    /// changes before the record is durable.
    static func group(_ group: Group, assigned: Bool = false) -> CoordinatorRecord {
        CoordinatorRecord(
            key: groupKey(id: group.id),
            value: value { writer in
                writer.bool(assigned || group.state == .stable)
                writer.int64(group.stateSince.milliseconds)
                writer.int32(group.generation)
                writer.nullableString(group.protocolType)
                writer.nullableString(group.protocolName)
                writer.nullableString(group.leaderID)
                writer.array(group.membersInOrder) { writer, member in write(member, to: &writer) }
            })
    }

    private static func write(_ offset: CommittedOffset, to writer: inout WireWriter) {
        writer.int64(offset.offset)
        writer.int32(offset.leaderEpoch)
        writer.string(offset.metadata)
        writer.int64(offset.committedAt.milliseconds)
    }

    private static func write(_ member: GroupMember, to writer: inout WireWriter) {
        writer.string(member.id)
        writer.nullableString(member.instanceID)
        writer.string(member.clientID)
        writer.string(member.clientHost)
        writer.int32(Int32(clamping: member.sessionTimeoutMilliseconds))
        writer.int32(Int32(clamping: member.rebalanceTimeoutMilliseconds))
        writer.bytes(member.assignment)
        writer.array(member.protocols) { writer, offer in
            writer.string(offer.name)
            writer.bytes(offer.metadata)
        }
    }

    private static func offsetKey(group: String, partition: PartitionID) -> [UInt8] {
        CoordinatorRecord.key(kind: Kind.offset.rawValue) { writer in
            writer.string(group)
            writer.string(partition.topic)
            writer.int32(partition.partition)
        }
    }

    private static func pendingKey(group: String, partition: PartitionID, producer: Int64) -> [UInt8] {
        CoordinatorRecord.key(kind: Kind.pendingOffset.rawValue) { writer in
            writer.string(group)
            writer.string(partition.topic)
            writer.int32(partition.partition)
            writer.int64(producer)
        }
    }

    private static func groupKey(id: String) -> [UInt8] {
        CoordinatorRecord.key(kind: Kind.group.rawValue) { writer in writer.string(id) }
    }

    private static func value(writeFacts: (inout WireWriter) -> Void) -> [UInt8] {
        CoordinatorRecord.value(formatVersion: formatVersion, writeFacts: writeFacts)
    }
}
