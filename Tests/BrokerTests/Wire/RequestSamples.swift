@testable import Broker

/// A valid request of each kind in each version that the broker offers. The decoder must understand them all, and
/// `RequestMutator` starts from them. They are written from Kafka's published schemas, not with the broker's own
/// encoders. The comment behind a value is the field's name in the schema.
enum RequestSamples {
    struct Sample {
        var api: APIKey
        var version: Int16
        /// Without the length in front.
        var bytes: [UInt8]
    }

    static let all: [Sample] = APIKey.allCases.flatMap { api in
        (api.versions.oldest...api.versions.newest).map { version in
            let lengthAndRequest = RawClient.request(key: api.rawValue, version: version, correlation: 7) {
                writeBody(of: api, version: version, to: &$0)
            }
            return Sample(
                api: api, version: version, bytes: Array(lengthAndRequest.dropFirst(MemoryLayout<Int32>.size))
            )
        }
    }

    /// Writes the body of a sample, with the tags of its end.
    static func writeBody(of api: APIKey, version: Int16, to writer: inout WireWriter) {
        switch api {
        case .apiVersions: apiVersions(version: version, to: &writer)
        case .metadata: metadata(version: version, to: &writer)
        case .produce: produce(to: &writer)
        case .fetch: fetch(version: version, to: &writer)
        case .listOffsets: listOffsets(version: version, to: &writer)
        case .offsetForLeaderEpoch: offsetForLeaderEpoch(version: version, to: &writer)
        case .createTopics: createTopics(to: &writer)
        case .deleteTopics: deleteTopics(to: &writer)
        case .deleteRecords: deleteRecords(to: &writer)
        case .createPartitions: createPartitions(to: &writer)
        case .describeConfigs: describeConfigs(version: version, to: &writer)
        case .alterConfigs: alterConfigs(to: &writer, incremental: false)
        case .incrementalAlterConfigs: alterConfigs(to: &writer, incremental: true)
        case .describeCluster: writer.bool(true)  // include_cluster_authorized_operations
        case .findCoordinator: findCoordinator(version: version, to: &writer)
        case .listGroups: if version >= 4 { writer.array(["Stable"]) { $0.string($1) } }  // states_filter
        case .describeGroups, .deleteGroups:
            writer.array(["group"]) { $0.string($1) }  // groups
            if api == .describeGroups, version >= 3 { writer.bool(false) }  // include_authorized_operations
        case .joinGroup: joinGroup(version: version, to: &writer)
        case .syncGroup: syncGroup(version: version, to: &writer)
        case .heartbeat: member(version: version, to: &writer)
        case .leaveGroup: leaveGroup(version: version, to: &writer)
        case .offsetCommit: offsetCommit(version: version, to: &writer)
        case .offsetFetch: offsetFetch(version: version, to: &writer)
        case .offsetDelete: offsetDelete(to: &writer)
        case .initProducerID: initProducerID(version: version, to: &writer)
        case .addPartitionsToTxn: addPartitionsToTxn(to: &writer)
        case .addOffsetsToTxn: transaction(to: &writer) { $0.string("group") }  // group_id
        case .endTxn: transaction(to: &writer) { $0.bool(true) }  // committed
        case .txnOffsetCommit: txnOffsetCommit(version: version, to: &writer)
        }
        writer.emptyTags()
    }

    // MARK: Topics and records

    /// Writes one topic with two partitions, and the same fields for each partition.
    private static func topics(to writer: inout WireWriter, partition: (inout WireWriter) -> Void) {
        writer.topics([TopicPartitions(topic: "topic", partitions: [0, 1])]) { writer, _ in partition(&writer)
        }
    }

    private static func apiVersions(version: Int16, to writer: inout WireWriter) {
        guard version >= 3 else { return }
        writer.string("client")  // client_software_name
        writer.string("1.0")  // client_software_version
    }

    private static func metadata(version: Int16, to writer: inout WireWriter) {
        writer.array(["topic"]) { writer, name in
            if version >= 10 { writer.uuid(.none) }  // topic_id
            writer.nullableString(name)  // name
            writer.emptyTags()
        }
        if version >= 4 { writer.bool(false) }  // allow_auto_topic_creation
        if version >= 8, version <= 10 { writer.bool(true) }  // include_cluster_authorized_operations
        if version >= 8 { writer.bool(true) }  // include_topic_authorized_operations
    }

    private static func produce(to writer: inout WireWriter) {
        writer.nullableString(nil)  // transactional_id
        writer.int16(-1)  // acks
        writer.int32(1000)  // timeout_ms
        let batch = BatchBuilder.batch([NewRecord(key: [1], value: [2])], time: 1)
        topics(to: &writer) {
            $0.int32(0)  // index
            $0.nullableBytes(batch)  // records
        }
    }

    private static func fetch(version: Int16, to writer: inout WireWriter) {
        writer.int32(-1)  // replica_id
        writer.int32(100)  // max_wait_ms
        writer.int32(1)  // min_bytes
        writer.int32(1 << 20)  // max_bytes
        writer.int8(1)  // isolation_level
        if version >= 7 {
            writer.int32(0)  // session_id
            writer.int32(-1)  // session_epoch
        }
        topics(to: &writer) { writer in
            writer.int32(0)  // partition
            if version >= 9 { writer.int32(0) }  // current_leader_epoch
            writer.int64(0)  // fetch_offset
            if version >= 5 { writer.int64(-1) }  // log_start_offset
            writer.int32(1 << 20)  // partition_max_bytes
        }
        if version >= 7 { topics(to: &writer) { $0.int32(0) } }  // forgotten_topics_data
        if version >= 11 { writer.string("rack") }  // rack_id
    }

    private static func listOffsets(version: Int16, to writer: inout WireWriter) {
        writer.int32(-1)  // replica_id
        if version >= 2 { writer.int8(1) }  // isolation_level
        topics(to: &writer) { writer in
            writer.int32(0)  // partition_index
            if version >= 4 { writer.int32(0) }  // current_leader_epoch
            writer.int64(-1)  // timestamp
        }
    }

    private static func offsetForLeaderEpoch(version: Int16, to writer: inout WireWriter) {
        if version >= 3 { writer.int32(-1) }  // replica_id
        topics(to: &writer) { writer in
            writer.int32(0)  // partition
            writer.int32(0)  // current_leader_epoch
            writer.int32(0)  // leader_epoch
        }
    }

    private static func deleteRecords(to writer: inout WireWriter) {
        topics(to: &writer) { writer in
            writer.int32(0)  // partition_index
            writer.int64(-1)  // offset
        }
        writer.int32(1000)  // timeout_ms
    }

    // MARK: Administration

    private static func createTopics(to writer: inout WireWriter) {
        writer.array(["topic"]) { writer, name in
            writer.string(name)  // name
            writer.int32(1)  // num_partitions
            writer.int16(1)  // replication_factor
            writer.array([0 as Int32]) { writer, partition in  // assignments
                writer.int32(partition)  // partition_index
                writer.array([1 as Int32]) { $0.int32($1) }  // broker_ids
                writer.emptyTags()
            }
            writer.array(["retention.ms"]) { writer, name in  // configs
                writer.string(name)  // name
                writer.nullableString("1")  // value
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.int32(1000)  // timeout_ms
        writer.bool(false)  // validate_only
    }

    private static func deleteTopics(to writer: inout WireWriter) {
        writer.array(["topic"]) { $0.string($1) }  // topic_names
        writer.int32(1000)  // timeout_ms
    }

    private static func createPartitions(to writer: inout WireWriter) {
        writer.array(["topic"]) { writer, name in
            writer.string(name)  // name
            writer.int32(3)  // count
            writer.array([1 as Int32]) { writer, broker in  // assignments
                writer.array([broker]) { $0.int32($1) }  // broker_ids
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.int32(1000)  // timeout_ms
        writer.bool(false)  // validate_only
    }

    private static func describeConfigs(version: Int16, to writer: inout WireWriter) {
        writer.array(["topic"]) { writer, name in
            writer.int8(2)  // resource_type: a topic
            writer.string(name)  // resource_name
            writer.array(["retention.ms"]) { $0.string($1) }  // configuration_keys
            writer.emptyTags()
        }
        writer.bool(true)  // include_synonyms
        if version >= 3 { writer.bool(false) }  // include_documentation
    }

    private static func alterConfigs(to writer: inout WireWriter, incremental: Bool) {
        writer.array(["topic"]) { writer, name in
            writer.int8(2)  // resource_type: a topic
            writer.string(name)  // resource_name
            writer.array(["retention.ms"]) { writer, name in  // configs
                writer.string(name)  // name
                if incremental { writer.int8(0) }  // config_operation: set
                writer.nullableString("1")  // value
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.bool(false)  // validate_only
    }

    // MARK: Groups

    private static func findCoordinator(version: Int16, to writer: inout WireWriter) {
        if version < 4 { writer.string("group") }  // key
        if version >= 1 { writer.int8(0) }  // key_type: a group
        if version >= 4 { writer.array(["group"]) { $0.string($1) } }  // coordinator_keys
    }

    /// Writes the fields that name a member, with which several requests begin.
    private static func member(version: Int16, to writer: inout WireWriter) {
        writer.string("group")  // group_id
        writer.int32(1)  // generation_id
        writer.string("member")  // member_id
        if version >= 3 { writer.nullableString("instance") }  // group_instance_id
    }

    private static func joinGroup(version: Int16, to writer: inout WireWriter) {
        writer.string("group")  // group_id
        writer.int32(10_000)  // session_timeout_ms
        if version >= 1 { writer.int32(10_000) }  // rebalance_timeout_ms
        writer.string("")  // member_id
        if version >= 5 { writer.nullableString(nil) }  // group_instance_id
        writer.string("consumer")  // protocol_type
        writer.array(["range"]) { writer, name in  // protocols
            writer.string(name)  // name
            writer.bytes([1, 2, 3])  // metadata
            writer.emptyTags()
        }
    }

    private static func syncGroup(version: Int16, to writer: inout WireWriter) {
        member(version: version, to: &writer)
        if version >= 5 {
            writer.nullableString("consumer")  // protocol_type
            writer.nullableString("range")  // protocol_name
        }
        writer.array(["member"]) { writer, name in  // assignments
            writer.string(name)  // member_id
            writer.bytes([1, 2, 3])  // assignment
            writer.emptyTags()
        }
    }

    private static func leaveGroup(version: Int16, to writer: inout WireWriter) {
        writer.string("group")  // group_id
        guard version >= 3 else { return writer.string("member") }  // member_id
        writer.array(["member"]) { writer, name in  // members
            writer.string(name)  // member_id
            writer.nullableString(nil)  // group_instance_id
            writer.emptyTags()
        }
    }

    private static func offsetCommit(version: Int16, to writer: inout WireWriter) {
        writer.string("group")  // group_id
        writer.int32(-1)  // generation_id_or_member_epoch
        writer.string("")  // member_id
        if version >= 7 { writer.nullableString(nil) }  // group_instance_id
        if (2...4).contains(version) { writer.int64(-1) }  // retention_time_ms
        topics(to: &writer) { writer in
            writer.int32(0)  // partition_index
            writer.int64(5)  // committed_offset
            if version >= 6 { writer.int32(0) }  // committed_leader_epoch
            if version == 1 { writer.int64(-1) }  // commit_timestamp
            writer.nullableString("metadata")  // committed_metadata
        }
    }

    private static func offsetFetch(version: Int16, to writer: inout WireWriter) {
        func group(to writer: inout WireWriter) {
            writer.string("group")  // group_id
            writer.array(["topic"]) { writer, name in
                writer.string(name)  // name
                writer.array([0 as Int32]) { $0.int32($1) }  // partition_indexes
                writer.emptyTags()
            }
        }
        if version < 8 {
            group(to: &writer)
        } else {
            writer.array([0]) { writer, _ in
                group(to: &writer)
                writer.emptyTags()
            }
        }
        if version >= 7 { writer.bool(true) }  // require_stable
    }

    private static func offsetDelete(to writer: inout WireWriter) {
        writer.string("group")  // group_id
        topics(to: &writer) { $0.int32(0) }  // partition_index
    }

    // MARK: Transactions

    /// Writes the fields that name a transactional producer, with which several requests begin.
    private static func transaction(to writer: inout WireWriter, rest: (inout WireWriter) -> Void) {
        writer.string("transactional")  // transactional_id
        writer.int64(1)  // producer_id
        writer.int16(0)  // producer_epoch
        rest(&writer)
    }

    private static func initProducerID(version: Int16, to writer: inout WireWriter) {
        writer.nullableString("transactional")  // transactional_id
        writer.int32(1000)  // transaction_timeout_ms
        guard version >= 3 else { return }
        writer.int64(-1)  // producer_id
        writer.int16(-1)  // producer_epoch
    }

    private static func addPartitionsToTxn(to writer: inout WireWriter) {
        transaction(to: &writer) { writer in
            writer.array(["topic"]) { writer, name in
                writer.string(name)  // name
                writer.array([0 as Int32]) { $0.int32($1) }  // partitions
                writer.emptyTags()
            }
        }
    }

    private static func txnOffsetCommit(version: Int16, to writer: inout WireWriter) {
        writer.string("transactional")  // transactional_id
        writer.string("group")  // group_id
        writer.int64(1)  // producer_id
        writer.int16(0)  // producer_epoch
        if version >= 3 {
            writer.int32(1)  // generation_id
            writer.string("member")  // member_id
            writer.nullableString(nil)  // group_instance_id
        }
        topics(to: &writer) { writer in
            writer.int32(0)  // partition_index
            writer.int64(5)  // committed_offset
            if version >= 2 { writer.int32(0) }  // committed_leader_epoch
            writer.nullableString("metadata")  // committed_metadata
        }
    }
}
