internal import Lifecycle
internal import Telemetry

/// Restores groups from their topic. The caller calls `restore` for each record in the order of the log,
/// and then `finishRestoring`.
extension GroupCoordinator {
    package func restore(_ record: CoordinatorRecord) -> CoordinatorRecord.RestoreResult {
        do throws(WireError) {
            return try WireReader.read(record.key, encoding: .compact) { (key) throws(WireError) in
                switch GroupRecords.Kind(rawValue: try key.int16()) {
                case .offset: try self.restoreOffset(key: &key, value: record.value)
                case .group: try self.restoreGroup(key: &key, value: record.value)
                case .pendingOffset: try self.restorePendingOffset(key: &key, value: record.value)
                case nil: .unknownVersion
                }
            }
        } catch {
            return .malformed
        }
    }

    /// Ends the restoration. All members get a whole session, because they could send no heartbeats while the broker was
    /// down. The members of a group that was rebalancing must send SyncGroup again.
    package func finishRestoring(at now: ClockReading) {
        // These steps emit no actions.
        _ = handleEvent(at: now) {
            for group in groups.values {
                for member in group.members.values { extendSession(of: member, in: group) }
                if group.state == .completingRebalance {
                    group.awaitedSyncs = Set(group.members.keys)
                    group.syncDeadline = now.steady.advanced(
                        byMilliseconds: group.rebalanceTimeoutMilliseconds)
                }
                scheduleNextDeadline(of: group)
            }
            nextRetentionCheck = now.steady.advanced(
                byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
        }
    }

    private func restoredGroup(id: String) -> Group {
        if let group = groups[id] { return group }
        let group = Group(id: id, at: now.wall)
        groups[id] = group
        return group
    }

    private func restoreOffset(
        key: inout WireReader, value: [UInt8]?
    ) throws(WireError) -> CoordinatorRecord.RestoreResult {
        let id = try key.string()
        let partition = PartitionID(topic: try key.string(), partition: try key.int32())
        guard let value else {
            groups[id]?.committedOffsets[partition] = nil
            return .applied
        }
        return try WireReader.read(value, encoding: .compact) { (reader) throws(WireError) in
            guard try reader.int16() == GroupRecords.formatVersion else { return .unknownVersion }
            let offset = try Self.offset(from: &reader)
            self.restoredGroup(id: id).committedOffsets[partition] = offset
            return .applied
        }
    }

    /// Restores an offset of a transaction that has not ended. A record without a value deletes it.
    private func restorePendingOffset(
        key: inout WireReader, value: [UInt8]?
    ) throws(WireError) -> CoordinatorRecord.RestoreResult {
        let id = try key.string()
        let partition = PartitionID(topic: try key.string(), partition: try key.int32())
        let producer = try key.int64()
        guard let value else {
            groups[id]?.pendingOffsets[producer]?.offsets[partition] = nil
            if groups[id]?.pendingOffsets[producer]?.offsets.isEmpty == true {
                groups[id]?.pendingOffsets[producer] = nil
            }
            return .applied
        }
        return try WireReader.read(value, encoding: .compact) { (reader) throws(WireError) in
            guard try reader.int16() == GroupRecords.formatVersion else { return .unknownVersion }
            let offset = try Self.offset(from: &reader)
            let epoch = try reader.int16()
            self.restoredGroup(id: id).addPendingOffsets([partition: offset], of: producer, epoch: epoch)
            return .applied
        }
    }

    /// Restores a group with its members, whose waiting requests are lost.
    private func restoreGroup(
        key: inout WireReader, value: [UInt8]?
    ) throws(WireError) -> CoordinatorRecord.RestoreResult {
        let id = try key.string()
        guard let value else {
            // The records of its offsets were deleted before.
            groups[id] = nil
            return .applied
        }
        return try WireReader.read(value, encoding: .compact) { (reader) throws(WireError) in
            guard try reader.int16() == GroupRecords.formatVersion else { return .unknownVersion }
            let isAssigned = try reader.bool()
            let stateSince = WallTime(milliseconds: try reader.int64())
            let generation = try reader.int32()
            let protocolType = try reader.nullableString()
            let protocolName = try reader.nullableString()
            let leaderID = try reader.nullableString()
            let members = try reader.array { (reader) throws(WireError) in try self.member(from: &reader) }
            let group = self.restoredGroup(id: id)
            // An earlier record of the group had other members.
            for former in group.members.values { group.remove(former) }
            for member in members { group.add(member) }
            group.generation = generation
            group.protocolType = protocolType
            group.protocolName = protocolName
            group.leaderID = leaderID
            let stateWithMembers = isAssigned ? GroupState.stable : .completingRebalance
            group.enter(members.isEmpty ? .empty : stateWithMembers, at: stateSince)
            return .applied
        }
    }

    private static func offset(from reader: inout WireReader) throws(WireError) -> CommittedOffset {
        CommittedOffset(
            offset: try reader.int64(), leaderEpoch: try reader.int32(), metadata: try reader.string(),
            committedAt: WallTime(milliseconds: try reader.int64()))
    }

    private func member(from reader: inout WireReader) throws(WireError) -> GroupMember {
        let id = try reader.string()
        let instanceID = try reader.nullableString()
        let clientID = try reader.string()
        let clientHost = try reader.string()
        let sessionTimeout = Int(try reader.int32())
        let rebalanceTimeout = Int(try reader.int32())
        let assignment = try reader.bytes()
        let protocols = try reader.array { (reader) throws(WireError) in
            JoinGroupRequest.OfferedProtocol(name: try reader.string(), metadata: try reader.bytes())
        }
        let member = GroupMember(
            id: id, instanceID: instanceID, clientID: clientID, clientHost: clientHost,
            order: nextMemberOrder(), sessionTimeoutMilliseconds: sessionTimeout,
            rebalanceTimeoutMilliseconds: rebalanceTimeout, protocols: protocols)
        member.assignment = assignment
        return member
    }
}
