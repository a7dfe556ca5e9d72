/// One decoded request. Any sequence of bytes is either a request or a `WireError`.
enum Request {
    case apiVersions
    case metadata(MetadataRequest)
    case describeCluster(wantsOperations: Bool)
    case produce(ProduceRequest)
    case fetch(FetchRequest)
    case listOffsets(ListOffsetsRequest)
    case offsetForLeaderEpoch(OffsetForLeaderEpochRequest)
    case createTopics(CreateTopicsRequest)
    case deleteTopics(DeleteTopicsRequest)
    case deleteRecords(DeleteRecordsRequest)
    case createPartitions(topics: [String])
    case describeConfigs(DescribeConfigsRequest)
    case alterConfigs(AlterConfigsRequest, incremental: Bool)
    case findCoordinator(FindCoordinatorRequest)
    case group(GroupRequest)
    case initProducerID(InitProducerIDRequest)
    case addPartitionsToTxn(AddPartitionsToTxnRequest)
    case addOffsetsToTxn(AddOffsetsToTxnRequest)
    case txnOffsetCommit(TxnOffsetCommitRequest)
    case endTxn(EndTxnRequest)

    /// Decodes the body of a request. `reader` is behind the header and has the version's encoding, and the
    /// version is one that this broker offers. Bytes behind the last field are ignored, as on Kafka:
    /// librdkafka 2.16 sends three of them with Metadata.
    init(api: APIKey, version: Int16, from reader: inout WireReader) throws(WireError) {
        self = try Self.decode(api: api, version: version, from: &reader)
    }

    private static func decode(
        api: APIKey, version: Int16, from reader: inout WireReader
    ) throws(WireError) -> Request {
        switch api {
        case .apiVersions:
            try ApiVersions.readRequest(from: &reader, version: version)
            return .apiVersions
        case .metadata: return .metadata(try MetadataRequest(from: &reader, version: version))
        case .describeCluster:
            return .describeCluster(wantsOperations: try DescribeCluster.readRequest(from: &reader))
        case .produce: return .produce(try ProduceRequest(from: &reader, version: version))
        case .fetch: return .fetch(try FetchRequest(from: &reader, version: version))
        case .listOffsets: return .listOffsets(try ListOffsetsRequest(from: &reader, version: version))
        case .offsetForLeaderEpoch:
            return .offsetForLeaderEpoch(try OffsetForLeaderEpochRequest(from: &reader, version: version))
        case .createTopics: return .createTopics(try CreateTopicsRequest(from: &reader, version: version))
        case .deleteTopics: return .deleteTopics(try DeleteTopicsRequest(from: &reader, version: version))
        case .deleteRecords: return .deleteRecords(try DeleteRecordsRequest(from: &reader))
        case .createPartitions:
            return .createPartitions(topics: try CreatePartitions.readRequest(from: &reader))
        case .describeConfigs:
            return .describeConfigs(try DescribeConfigsRequest(from: &reader, version: version))
        case .alterConfigs:
            return .alterConfigs(
                try AlterConfigsRequest(from: &reader, incremental: false), incremental: false)
        case .incrementalAlterConfigs:
            return .alterConfigs(try AlterConfigsRequest(from: &reader, incremental: true), incremental: true)
        default: return try decodeCoordinatorRequest(api: api, version: version, from: &reader)
        }
    }

    private static func decodeCoordinatorRequest(
        api: APIKey, version: Int16, from reader: inout WireReader
    ) throws(WireError) -> Request {
        switch api {
        case .findCoordinator:
            return .findCoordinator(try FindCoordinatorRequest(from: &reader, version: version))
        case .joinGroup: return .group(.join(try JoinGroupRequest(from: &reader, version: version)))
        case .syncGroup: return .group(.sync(try SyncGroupRequest(from: &reader, version: version)))
        case .heartbeat: return .group(.heartbeat(try HeartbeatRequest(from: &reader, version: version)))
        case .leaveGroup: return .group(.leave(try LeaveGroupRequest(from: &reader, version: version)))
        case .offsetCommit: return .group(.commit(try OffsetCommitRequest(from: &reader, version: version)))
        case .offsetFetch: return .group(.fetch(try OffsetFetchRequest(from: &reader, version: version)))
        case .offsetDelete:
            return .group(.deleteOffsets(try OffsetDeleteRequest(from: &reader, version: version)))
        case .listGroups: return .group(.list(try ListGroupsRequest(from: &reader, version: version)))
        case .describeGroups:
            return .group(.describe(try DescribeGroupsRequest(from: &reader, version: version)))
        case .deleteGroups: return .group(.delete(try DeleteGroupsRequest(from: &reader, version: version)))
        case .initProducerID:
            return .initProducerID(try InitProducerIDRequest(from: &reader, version: version))
        case .addPartitionsToTxn:
            return .addPartitionsToTxn(try AddPartitionsToTxnRequest(from: &reader, version: version))
        case .addOffsetsToTxn:
            return .addOffsetsToTxn(try AddOffsetsToTxnRequest(from: &reader, version: version))
        case .txnOffsetCommit:
            return .txnOffsetCommit(try TxnOffsetCommitRequest(from: &reader, version: version))
        case .endTxn: return .endTxn(try EndTxnRequest(from: &reader, version: version))
        default: preconditionFailure("a request of the table has no decoder")
        }
    }
}
