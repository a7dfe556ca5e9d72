@testable import Broker

/// The requests of group members. By default they are for the group "g" and partition 0 of the topic "t".
///
/// The version of a join decides how a new client without an instance id is admitted. Up to version 3 it becomes a
/// member at once. From version 4 its first join is refused with MEMBER_ID_REQUIRED and a member id, with which it
/// joins again.
enum Requests {
    static func join(
        _ group: String = "g", member: String = "", instance: String? = nil, version: Int16 = 5,
        sessionMilliseconds: Int32 = 10_000, rebalanceMilliseconds: Int32 = 30_000, type: String = "consumer",
        protocols: [String] = ["range"], metadata: [UInt8] = [1]
    ) -> GroupRequest {
        .join(
            JoinGroupRequest(
                version: version, groupID: group, sessionTimeoutMilliseconds: sessionMilliseconds,
                rebalanceTimeoutMilliseconds: rebalanceMilliseconds, memberID: member, instanceID: instance,
                protocolType: type, protocols: protocols.map { .init(name: $0, metadata: metadata) }))
    }

    static func sync(
        _ group: String = "g", member: String, generation: Int32, instance: String? = nil,
        assignments: [String: [UInt8]] = [:]
    ) -> GroupRequest {
        .sync(
            SyncGroupRequest(
                groupID: group, generation: generation, memberID: member, instanceID: instance,
                assignments: assignments.map { .init(memberID: $0, assignment: $1) }))
    }

    static func heartbeat(
        _ group: String = "g", member: String, generation: Int32, instance: String? = nil
    ) -> GroupRequest {
        .heartbeat(
            HeartbeatRequest(groupID: group, generation: generation, memberID: member, instanceID: instance))
    }

    static func leave(_ group: String = "g", member: String, instance: String? = nil) -> GroupRequest {
        .leave(
            LeaveGroupRequest(groupID: group, members: [.init(memberID: member, instanceID: instance)]))
    }

    static func commit(
        _ group: String = "g", member: String = "", generation: Int32 = -1, instance: String? = nil,
        topic: String = "t", partition: Int32 = 0, offset: Int64, metadata: String = ""
    ) -> GroupRequest {
        .commit(
            OffsetCommitRequest(
                groupID: group, generation: generation, memberID: member, instanceID: instance,
                topics: topics(topic, partition: partition, offset: offset, metadata: metadata)))
    }

    static func transactionalCommit(
        _ group: String = "g", producer: Int64 = 7, epoch: Int16 = 0, member: String = "",
        generation: Int32 = -1, instance: String? = nil, topic: String = "t", partition: Int32 = 0,
        offset: Int64
    ) -> GroupRequest {
        .transactionalCommit(
            TxnOffsetCommitRequest(
                transactionalID: "x", groupID: group, producerID: producer, producerEpoch: epoch,
                generation: generation, memberID: member, instanceID: instance,
                topics: topics(topic, partition: partition, offset: offset, metadata: "")))
    }

    static func fetch(
        _ group: String = "g", topic: String = "t", partition: Int32 = 0, stable: Bool = false
    ) -> GroupRequest {
        .fetch(
            OffsetFetchRequest(
                groups: [
                    .init(groupID: group, topics: [.init(topic: topic, partitions: [partition])])
                ], requireStable: stable))
    }

    private static func topics(
        _ topic: String, partition: Int32, offset: Int64, metadata: String
    ) -> [TopicPartitions<OffsetCommitRequest.Partition>] {
        [
            .init(
                topic: topic,
                partitions: [.init(index: partition, offset: offset, leaderEpoch: -1, metadata: metadata)])
        ]
    }
}

/// The offset in the answer for a partition of which the group has committed no offset.
let noOffset: Int64 = -1

extension GroupResponse {
    var join: JoinGroupResponse? { if case .join(let body) = self { body } else { nil } }
    var sync: SyncGroupResponse? { if case .sync(let body) = self { body } else { nil } }

    /// The error of the answer, or the error of its first member, partition or group. `ErrorCode.none` is success.
    var error: ErrorCode? {
        switch self {
        case .join(let body): body.error
        case .sync(let body): body.error
        case .heartbeat(let body): body.error
        case .leave(let body): body.error == .none ? body.members.first?.error : body.error
        case .commit(let body), .transactionalCommit(let body): body.topics.first?.partitions.first?.error
        case .fetch(let body): body.groups.first?.topics.first?.partitions.first?.error
        case .deleteOffsets(let body):
            body.error == .none ? body.partitions.topics.first?.partitions.first?.error : body.error
        case .list(let body): body.error
        case .describe(let body): body.groups.first?.error
        case .delete(let body): body.groups.first?.error
        }
    }

    var fetchedOffset: OffsetFetchResponse.Partition? {
        if case .fetch(let body) = self { body.groups.first?.topics.first?.partitions.first } else { nil }
    }
}

/// The membership of a client in a stable group, as the client knows it.
struct GroupMembership: Equatable {
    var member: String
    var generation: Int32
    var instance: String?
}

extension GroupDriver {
    /// Brings the group "g" to its first generation, which is stable. The assignment of each member is one byte, its
    /// index. Members without an entry in `instances` are dynamic.
    func stableGroup(memberCount: Int = 1, instances: [String?] = [], metadata: [UInt8] = [1])
        -> [GroupMembership]
    {
        func instance(at index: Int) -> String? { index < instances.count ? instances[index] : nil }
        let tokens = (0..<memberCount).map { index in
            send(Requests.join(instance: instance(at: index), version: 3, metadata: metadata))
        }
        passInitialRebalanceDelay()
        let joins = tokens.compactMap { take($0)?.join }
        let assignments = Dictionary(
            uniqueKeysWithValues: joins.enumerated().map { ($1.memberID, [UInt8($0)]) })
        for (index, join) in joins.enumerated() {
            let isLeader = join.leaderID == join.memberID
            _ = send(
                Requests.sync(
                    member: join.memberID, generation: join.generation, instance: instance(at: index),
                    assignments: isLeader ? assignments : [:]))
        }
        return joins.enumerated().map { index, join in
            GroupMembership(
                member: join.memberID, generation: join.generation, instance: instance(at: index))
        }
    }

    /// Lets the time pass for which a new group waits for more members before its first generation.
    func passInitialRebalanceDelay() { pass(milliseconds: 200) }
}
