import Testing

@testable import Broker

/// Every version that we offer, against what another implementation of the schemas writes.
struct CodecTests {
    private func decode<Request>(
        _ name: String, _ key: APIKey, _ version: Int16,
        _ body: (inout WireReader) throws(WireError) -> Request
    ) throws -> Request {
        let bytes = try #require(WireVectors.all["\(name)Request \(version)"])
        return try WireReader.read(bytes, flexible: key.versions.isFlexible(version)) {
            (reader) throws(WireError) in
            let request = try body(&reader)
            guard reader.remaining == 0 else { throw .truncated(wanted: 0, left: reader.remaining) }
            return request
        }
    }

    private func check(
        _ name: String, _ key: APIKey, _ version: Int16, _ body: (inout WireWriter) -> Void
    ) {
        var writer = WireWriter(flexible: key.versions.isFlexible(version))
        body(&writer)
        #expect(writer.copied() == WireVectors.all["\(name)Response \(version)"], "\(name) \(version)")
    }

    private static func versions(_ key: APIKey) -> ClosedRange<Int16> {
        key.versions.oldest...key.versions.newest
    }

    @Test(arguments: versions(.findCoordinator))
    func findCoordinator(version: Int16) throws {
        let request = try decode("FindCoordinator", .findCoordinator, version) { (r) throws(WireError) in
            try FindCoordinatorRequest(from: &r, version: version)
        }
        #expect(request == .init(keyType: version >= 1 ? 1 : 0, keys: version >= 4 ? ["k", "l"] : ["k"]))
        let response = FindCoordinatorResponse(coordinators: [
            .init(
                key: "k", error: .coordinatorNotAvailable, errorMessage: "no", nodeID: 1, host: "h",
                port: 9092)
        ])
        check("FindCoordinator", .findCoordinator, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.joinGroup))
    func joinGroup(version: Int16) throws {
        let request = try decode("JoinGroup", .joinGroup, version) { (r) throws(WireError) in
            try JoinGroupRequest(from: &r, version: version)
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
        check("JoinGroup", .joinGroup, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.syncGroup))
    func syncGroup(version: Int16) throws {
        let request = try decode("SyncGroup", .syncGroup, version) { (r) throws(WireError) in
            try SyncGroupRequest(from: &r, version: version)
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
        check("SyncGroup", .syncGroup, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.heartbeat))
    func heartbeat(version: Int16) throws {
        let request = try decode("Heartbeat", .heartbeat, version) { (r) throws(WireError) in
            try HeartbeatRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(groupID: "g", generation: 7, memberID: "m", instanceID: version >= 3 ? "i" : nil))
        check("Heartbeat", .heartbeat, version) {
            HeartbeatResponse(error: .rebalanceInProgress).write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.leaveGroup))
    func leaveGroup(version: Int16) throws {
        let request = try decode("LeaveGroup", .leaveGroup, version) { (r) throws(WireError) in
            try LeaveGroupRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(groupID: "g", members: [.init(memberID: "m", instanceID: version >= 3 ? "i" : nil)]))
        // The old versions have one error, which is the error of the whole answer.
        let error: ErrorCode = version >= 3 ? .unknownMemberID : .none
        let response = LeaveGroupResponse(members: [.init(memberID: "m", instanceID: "i", error: error)])
        check("LeaveGroup", .leaveGroup, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.offsetCommit))
    func offsetCommit(version: Int16) throws {
        let request = try decode("OffsetCommit", .offsetCommit, version) { (r) throws(WireError) in
            try OffsetCommitRequest(from: &r, version: version)
        }
        let partition = OffsetCommitRequest.Partition(
            index: 3, offset: 42, leaderEpoch: version >= 6 ? 5 : -1, metadata: "meta")
        #expect(
            request
                == .init(
                    groupID: "g", generation: 7, memberID: "m", instanceID: version >= 7 ? "i" : nil,
                    topics: [.init(topic: "t", partitions: [partition])]))
        let response = GroupResponse.commit(errors(.offsetMetadataTooLarge))
        check("OffsetCommit", .offsetCommit, version) { response.write(to: &$0, version: version) }
    }

    private func errors(_ error: ErrorCode) -> PartitionErrors {
        PartitionErrors(topics: [.init(topic: "t", partitions: [.init(index: 3, error: error)])])
    }

    @Test(arguments: versions(.offsetFetch))
    func offsetFetch(version: Int16) throws {
        let request = try decode("OffsetFetch", .offsetFetch, version) { (r) throws(WireError) in
            try OffsetFetchRequest(from: &r, version: version)
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
        check("OffsetFetch", .offsetFetch, version) { response.write(to: &$0, version: version) }
    }

    @Test func offsetDelete() throws {
        let request = try decode("OffsetDelete", .offsetDelete, 0) { (r) throws(WireError) in
            try OffsetDeleteRequest(from: &r, version: 0)
        }
        #expect(request == .init(groupID: "g", topics: [.init(topic: "t", partitions: [3])]))
        let response = OffsetDeleteResponse(
            error: .groupIDNotFound, partitions: errors(.groupSubscribedToTopic))
        check("OffsetDelete", .offsetDelete, 0) { response.write(to: &$0, version: 0) }
    }

    @Test(arguments: versions(.listGroups))
    func listGroups(version: Int16) throws {
        let request = try decode("ListGroups", .listGroups, version) { (r) throws(WireError) in
            try ListGroupsRequest(from: &r, version: version)
        }
        #expect(request == .init(states: version >= 4 ? ["Stable"] : []))
        let response = ListGroupsResponse(groups: [
            .init(groupID: "g", protocolType: "consumer", state: "Stable")
        ])
        check("ListGroups", .listGroups, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.describeGroups))
    func describeGroups(version: Int16) throws {
        let request = try decode("DescribeGroups", .describeGroups, version) { (r) throws(WireError) in
            try DescribeGroupsRequest(from: &r, version: version)
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
        check("DescribeGroups", .describeGroups, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.deleteGroups))
    func deleteGroups(version: Int16) throws {
        let request = try decode("DeleteGroups", .deleteGroups, version) { (r) throws(WireError) in
            try DeleteGroupsRequest(from: &r, version: version)
        }
        #expect(request == .init(groupIDs: ["g"]))
        let response = DeleteGroupsResponse(groups: [.init(groupID: "g", error: .nonEmptyGroup)])
        check("DeleteGroups", .deleteGroups, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.initProducerID))
    func initProducerID(version: Int16) throws {
        let request = try decode("InitProducerId", .initProducerID, version) { (r) throws(WireError) in
            try InitProducerIDRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", timeoutMilliseconds: 10_000,
                    producerID: version >= 3 ? 9 : -1, producerEpoch: version >= 3 ? 2 : -1))
        let response = InitProducerIDResponse(error: .concurrentTransactions, producerID: 9, producerEpoch: 2)
        check("InitProducerId", .initProducerID, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.addPartitionsToTxn))
    func addPartitionsToTxn(version: Int16) throws {
        let request = try decode("AddPartitionsToTxn", .addPartitionsToTxn, version) {
            (r) throws(WireError) in try AddPartitionsToTxnRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2,
                    topics: [.init(topic: "t", partitions: [3])]))
        let response = TransactionAnswer.addPartitions(errors(.operationNotAttempted))
        check("AddPartitionsToTxn", .addPartitionsToTxn, version) {
            response.write(to: &$0, version: version)
        }
    }

    @Test(arguments: versions(.addOffsetsToTxn))
    func addOffsetsToTxn(version: Int16) throws {
        let request = try decode("AddOffsetsToTxn", .addOffsetsToTxn, version) { (r) throws(WireError) in
            try AddOffsetsToTxnRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2, groupID: "g"))
        let response = TransactionAnswer.addOffsets(.init(error: .concurrentTransactions))
        check("AddOffsetsToTxn", .addOffsetsToTxn, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.endTxn))
    func endTxn(version: Int16) throws {
        let request = try decode("EndTxn", .endTxn, version) { (r) throws(WireError) in
            try EndTxnRequest(from: &r, version: version)
        }
        #expect(
            request
                == .init(
                    version: version, transactionalID: "x", producerID: 9, producerEpoch: 2, commits: true))
        let response = TransactionAnswer.end(.init(error: .concurrentTransactions))
        check("EndTxn", .endTxn, version) { response.write(to: &$0, version: version) }
    }

    @Test(arguments: versions(.txnOffsetCommit))
    func txnOffsetCommit(version: Int16) throws {
        let request = try decode("TxnOffsetCommit", .txnOffsetCommit, version) { (r) throws(WireError) in
            try TxnOffsetCommitRequest(from: &r, version: version)
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
        check("TxnOffsetCommit", .txnOffsetCommit, version) { response.write(to: &$0, version: version) }
    }
}
