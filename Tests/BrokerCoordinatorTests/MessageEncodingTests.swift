import Testing

@testable import Broker

/// The requests and responses of coordinators, in each version that the broker offers, compared with the bytes that
/// another implementation writes (`WireVectors`). A version without a field decodes to the field's default, so the
/// expectations say from which version on a field exists.
struct MessageEncodingTests {
    /// Decodes the vector of a request to its last byte.
    private func decode<Request>(
        _ name: String, key: APIKey, version: Int16,
        body: (inout WireReader) throws(WireError) -> Request
    ) throws -> Request {
        let bytes = try #require(WireVectors.all["\(name)Request \(version)"])
        return try WireReader.read(bytes, encoding: key.versions.encoding(of: version)) {
            (reader) throws(WireError) in
            let request = try body(&reader)
            // A request of this version has no bytes after it.
            guard reader.remaining == 0 else { throw .truncated(wanted: 0, left: reader.remaining) }
            return request
        }
    }

    /// Expects that a response is written as its vector.
    private func expectResponse(
        _ name: String, key: APIKey, version: Int16, body: (inout WireWriter) -> Void
    ) {
        var writer = WireWriter(encoding: key.versions.encoding(of: version))
        body(&writer)
        #expect(writer.copied() == WireVectors.all["\(name)Response \(version)"], "\(name) \(version)")
    }

    private static func versions(_ key: APIKey) -> ClosedRange<Int16> {
        key.versions.oldest...key.versions.newest
    }

    @Test(arguments: versions(.findCoordinator))
    func `FindCoordinator is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("FindCoordinator", key: .findCoordinator, version: version) {
            (reader) throws(WireError) in
            try FindCoordinatorRequest(from: &reader, version: version)
        }
        #expect(request == .init(keyType: version >= 1 ? 1 : 0, keys: version >= 4 ? ["k", "l"] : ["k"]))
        let response = FindCoordinatorResponse(coordinators: [
            .init(
                key: "k", error: .coordinatorNotAvailable, errorMessage: "no", nodeID: 1, host: "h",
                port: 9092)
        ])
        expectResponse("FindCoordinator", key: .findCoordinator, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.joinGroup))
    func `JoinGroup is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("JoinGroup", key: .joinGroup, version: version) {
            (reader) throws(WireError) in
            try JoinGroupRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, groupID: "g", sessionTimeoutMilliseconds: 10_000,
                    rebalanceTimeoutMilliseconds: version >= 1 ? 30_000 : 10_000, memberID: "m",
                    instanceID: version >= 5 ? "i" : nil, protocolType: "consumer",
                    protocols: [.init(name: "range", metadata: [1, 2])]))
        let response = JoinGroupResponse(
            generation: 7, protocolType: "consumer", protocolName: "range", leaderID: "l", memberID: "m",
            members: [.init(memberID: "m", instanceID: "i", metadata: [1, 2])])
        expectResponse("JoinGroup", key: .joinGroup, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.syncGroup))
    func `SyncGroup is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("SyncGroup", key: .syncGroup, version: version) {
            (reader) throws(WireError) in
            try SyncGroupRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    groupID: "g", generation: 7, memberID: "m", instanceID: version >= 3 ? "i" : nil,
                    protocolType: version >= 5 ? "consumer" : nil,
                    protocolName: version >= 5 ? "range" : nil,
                    assignments: [.init(memberID: "m", assignment: [3])]))
        let response = SyncGroupResponse(
            error: .rebalanceInProgress, protocolType: "consumer", protocolName: "range", assignment: [3])
        expectResponse("SyncGroup", key: .syncGroup, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.heartbeat))
    func `Heartbeat is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("Heartbeat", key: .heartbeat, version: version) {
            (reader) throws(WireError) in
            try HeartbeatRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(groupID: "g", generation: 7, memberID: "m", instanceID: version >= 3 ? "i" : nil))
        expectResponse("Heartbeat", key: .heartbeat, version: version) {
            HeartbeatResponse(error: .rebalanceInProgress).write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.leaveGroup))
    func `LeaveGroup is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("LeaveGroup", key: .leaveGroup, version: version) {
            (reader) throws(WireError) in
            try LeaveGroupRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(groupID: "g", members: [.init(memberID: "m", instanceID: version >= 3 ? "i" : nil)]))
        // The old versions have one error, which is the error of the whole answer.
        let error: ErrorCode = version >= 3 ? .unknownMemberID : .none
        let response = LeaveGroupResponse(members: [.init(memberID: "m", instanceID: "i", error: error)])
        expectResponse("LeaveGroup", key: .leaveGroup, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.offsetCommit))
    func `OffsetCommit is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("OffsetCommit", key: .offsetCommit, version: version) {
            (reader) throws(WireError) in
            try OffsetCommitRequest(from: &reader, version: version)
        }
        let partition = OffsetCommitRequest.Partition(
            index: 3, offset: 42, leaderEpoch: version >= 6 ? 5 : -1, metadata: "meta")
        #expect(
            request
                == .init(
                    groupID: "g", generation: 7, memberID: "m", instanceID: version >= 7 ? "i" : nil,
                    topics: [.init(topic: "t", partitions: [partition])]))
        let response = GroupResponse.commit(errors(.offsetMetadataTooLarge))
        expectResponse("OffsetCommit", key: .offsetCommit, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    /// The errors of a request for partition 3 of the topic "t".
    private func errors(_ error: ErrorCode) -> PartitionErrors {
        PartitionErrors(topics: [.init(topic: "t", partitions: [.init(index: 3, error: error)])])
    }

    @Test(arguments: versions(.offsetFetch))
    func `OffsetFetch is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("OffsetFetch", key: .offsetFetch, version: version) {
            (reader) throws(WireError) in
            try OffsetFetchRequest(from: &reader, version: version)
        }
        var groups = [
            OffsetFetchRequest.Group(groupID: "g", topics: [.init(topic: "t", partitions: [3])])
        ]
        if version >= 8 { groups.append(.init(groupID: "h", topics: nil)) }
        #expect(request == .init(groups: groups, requireStable: version >= 7))
        let partition = OffsetFetchResponse.Partition(
            index: 3, offset: 42, leaderEpoch: 5, metadata: "meta", error: .unstableOffsetCommit)
        let response = OffsetFetchResponse(groups: [
            .init(groupID: "g", topics: [.init(topic: "t", partitions: [partition])])
        ])
        expectResponse("OffsetFetch", key: .offsetFetch, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test func `OffsetDelete is decoded, and its response encoded, as in the vectors`() throws {
        let request = try decode("OffsetDelete", key: .offsetDelete, version: 0) {
            (reader) throws(WireError) in
            try OffsetDeleteRequest(from: &reader, version: 0)
        }
        #expect(request == .init(groupID: "g", topics: [.init(topic: "t", partitions: [3])]))
        let response = OffsetDeleteResponse(
            error: .groupIDNotFound, partitions: errors(.groupSubscribedToTopic))
        expectResponse("OffsetDelete", key: .offsetDelete, version: 0) { response.write(to: &$0, version: 0) }
    }

    @Test(arguments: versions(.listGroups))
    func `ListGroups is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("ListGroups", key: .listGroups, version: version) {
            (reader) throws(WireError) in
            try ListGroupsRequest(from: &reader, version: version)
        }
        #expect(request == .init(states: version >= 4 ? ["Stable"] : []))
        let response = ListGroupsResponse(groups: [
            .init(groupID: "g", protocolType: "consumer", state: "Stable")
        ])
        expectResponse("ListGroups", key: .listGroups, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.describeGroups))
    func `DescribeGroups is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("DescribeGroups", key: .describeGroups, version: version) {
            (reader) throws(WireError) in
            try DescribeGroupsRequest(from: &reader, version: version)
        }
        #expect(request == .init(groupIDs: ["g"]))
        let member = DescribeGroupsResponse.Member(
            memberID: "m", instanceID: "i", clientID: "c", clientHost: "/h", metadata: [1, 2], assignment: [3]
        )
        let response = DescribeGroupsResponse(groups: [
            .init(
                groupID: "g", state: "Stable", protocolType: "consumer", protocolName: "range",
                members: [member])
        ])
        expectResponse("DescribeGroups", key: .describeGroups, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.deleteGroups))
    func `DeleteGroups is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("DeleteGroups", key: .deleteGroups, version: version) {
            (reader) throws(WireError) in
            try DeleteGroupsRequest(from: &reader, version: version)
        }
        #expect(request == .init(groupIDs: ["g"]))
        let response = DeleteGroupsResponse(groups: [.init(groupID: "g", error: .nonEmptyGroup)])
        expectResponse("DeleteGroups", key: .deleteGroups, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.initProducerID))
    func `InitProducerId is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("InitProducerId", key: .initProducerID, version: version) {
            (reader) throws(WireError) in
            try InitProducerIDRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", timeoutMilliseconds: 10_000,
                    producerID: version >= 3 ? 9 : -1, producerEpoch: version >= 3 ? 2 : -1))
        let response = InitProducerIDResponse(error: .concurrentTransactions, producerID: 9, producerEpoch: 2)
        expectResponse("InitProducerId", key: .initProducerID, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.addPartitionsToTxn))
    func `AddPartitionsToTxn is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("AddPartitionsToTxn", key: .addPartitionsToTxn, version: version) {
            (reader) throws(WireError) in try AddPartitionsToTxnRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2,
                    topics: [.init(topic: "t", partitions: [3])]))
        let response = TransactionAnswer.addPartitions(errors(.operationNotAttempted))
        expectResponse("AddPartitionsToTxn", key: .addPartitionsToTxn, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.addOffsetsToTxn))
    func `AddOffsetsToTxn is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("AddOffsetsToTxn", key: .addOffsetsToTxn, version: version) {
            (reader) throws(WireError) in
            try AddOffsetsToTxnRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2, groupID: "g"))
        let response = TransactionAnswer.addOffsets(.init(error: .concurrentTransactions))
        expectResponse("AddOffsetsToTxn", key: .addOffsetsToTxn, version: version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.endTxn))
    func `EndTxn is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("EndTxn", key: .endTxn, version: version) { (reader) throws(WireError) in
            try EndTxnRequest(from: &reader, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2, commits: true))
        let response = TransactionAnswer.end(.init(error: .concurrentTransactions))
        expectResponse("EndTxn", key: .endTxn, version: version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.txnOffsetCommit))
    func `TxnOffsetCommit is decoded, and its response encoded, as in the vectors`(version: Int16) throws {
        let request = try decode("TxnOffsetCommit", key: .txnOffsetCommit, version: version) {
            (reader) throws(WireError) in
            try TxnOffsetCommitRequest(from: &reader, version: version)
        }
        let partition = OffsetCommitRequest.Partition(
            index: 3, offset: 42, leaderEpoch: version >= 2 ? 5 : -1, metadata: "meta")
        #expect(
            request
                == .init(
                    transactionalID: "x", groupID: "g", producerID: 9, producerEpoch: 2,
                    generation: version >= 3 ? 7 : -1, memberID: version >= 3 ? "m" : "",
                    instanceID: version >= 3 ? "i" : nil,
                    topics: [.init(topic: "t", partitions: [partition])]))
        let response = GroupResponse.transactionalCommit(errors(.illegalGeneration))
        expectResponse("TxnOffsetCommit", key: .txnOffsetCommit, version: version) {
            response.write(to: &$0, version: version)
        }
    }
}
