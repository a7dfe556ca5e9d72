@testable import Broker

/// A sound request of every kind in every version that the table offers, written from Kafka's
/// published schemas: what the decoder must understand, and what the fuzzer starts from.
enum RequestSamples {
    struct Sample {
        var api: APIKey
        var version: Int16
        var bytes: [UInt8]
    }

    static let all: [Sample] = APIKey.allCases.flatMap { api in
        (api.versions.oldest...api.versions.newest).map { version in
            let framed = RawClient.request(api.rawValue, version, correlation: 7) { body(api, version, &$0) }
            return Sample(api: api, version: version, bytes: Array(framed.dropFirst(4)))
        }
    }

    static func body(_ api: APIKey, _ version: Int16, _ w: inout WireWriter) {
        switch api {
        case .apiVersions: apiVersions(version, &w)
        case .metadata: metadata(version, &w)
        case .produce: produce(&w)
        case .fetch: fetch(version, &w)
        case .listOffsets: listOffsets(version, &w)
        case .offsetForLeaderEpoch: offsetForLeaderEpoch(version, &w)
        case .createTopics: createTopics(&w)
        case .deleteTopics: deleteTopics(&w)
        case .deleteRecords: deleteRecords(&w)
        case .createPartitions: createPartitions(&w)
        case .describeConfigs: describeConfigs(version, &w)
        case .alterConfigs: alterConfigs(&w, incremental: false)
        case .incrementalAlterConfigs: alterConfigs(&w, incremental: true)
        case .describeCluster: w.bool(true)
        case .findCoordinator: findCoordinator(version, &w)
        case .listGroups: if version >= 4 { w.array(["Stable"]) { $0.string($1) } }
        case .describeGroups, .deleteGroups:
            w.array(["group"]) { $0.string($1) }
            if api == .describeGroups, version >= 3 { w.bool(false) }
        case .joinGroup: joinGroup(version, &w)
        case .syncGroup: syncGroup(version, &w)
        case .heartbeat: member(version, &w)
        case .leaveGroup: leaveGroup(version, &w)
        case .offsetCommit: offsetCommit(version, &w)
        case .offsetFetch: offsetFetch(version, &w)
        case .offsetDelete: offsetDelete(&w)
        case .initProducerID: initProducerID(version, &w)
        case .addPartitionsToTxn: addPartitionsToTxn(&w)
        case .addOffsetsToTxn: transaction(&w) { $0.string("group") }
        case .endTxn: transaction(&w) { $0.bool(true) }
        case .txnOffsetCommit: txnOffsetCommit(version, &w)
        }
        w.emptyTags()
    }

    // MARK: Topics and records

    private static func topics(_ w: inout WireWriter, _ partition: (inout WireWriter) -> Void) {
        w.topics([TopicPartitions(topic: "topic", partitions: [0, 1])]) { w, _ in partition(&w) }
    }

    private static func apiVersions(_ version: Int16, _ w: inout WireWriter) {
        guard version >= 3 else { return }
        w.string("client")
        w.string("1.0")
    }

    private static func metadata(_ version: Int16, _ w: inout WireWriter) {
        w.array(["topic"]) { w, name in
            if version >= 10 { w.uuid(.none) }
            w.nullableString(name)
            w.emptyTags()
        }
        if version >= 4 { w.bool(false) }
        if version >= 8, version <= 10 { w.bool(true) }
        if version >= 8 { w.bool(true) }
    }

    private static func produce(_ w: inout WireWriter) {
        w.nullableString(nil)
        w.int16(-1)
        w.int32(1000)
        let batch = BatchBuilder.batch([NewRecord(key: [1], value: [2])], time: 1)
        topics(&w) {
            $0.int32(0)
            $0.nullableBytes(batch)
        }
    }

    private static func fetch(_ version: Int16, _ w: inout WireWriter) {
        w.int32(-1)
        w.int32(100)
        w.int32(1)
        w.int32(1 << 20)
        w.int8(1)
        if version >= 7 {
            w.int32(0)
            w.int32(-1)
        }
        topics(&w) { w in
            w.int32(0)
            if version >= 9 { w.int32(0) }
            w.int64(0)
            if version >= 5 { w.int64(-1) }
            w.int32(1 << 20)
        }
        if version >= 7 { topics(&w) { $0.int32(0) } }
        if version >= 11 { w.string("rack") }
    }

    private static func listOffsets(_ version: Int16, _ w: inout WireWriter) {
        w.int32(-1)
        if version >= 2 { w.int8(1) }
        topics(&w) { w in
            w.int32(0)
            if version >= 4 { w.int32(0) }
            w.int64(-1)
        }
    }

    private static func offsetForLeaderEpoch(_ version: Int16, _ w: inout WireWriter) {
        if version >= 3 { w.int32(-1) }
        topics(&w) { w in
            w.int32(0)
            w.int32(0)
            w.int32(0)
        }
    }

    private static func deleteRecords(_ w: inout WireWriter) {
        topics(&w) { w in
            w.int32(0)
            w.int64(-1)
        }
        w.int32(1000)
    }

    // MARK: Administration

    private static func createTopics(_ w: inout WireWriter) {
        w.array(["topic"]) { w, name in
            w.string(name)
            w.int32(1)
            w.int16(1)
            w.array([0 as Int32]) { w, partition in
                w.int32(partition)
                w.array([1 as Int32]) { $0.int32($1) }
                w.emptyTags()
            }
            w.array(["retention.ms"]) { w, name in
                w.string(name)
                w.nullableString("1")
                w.emptyTags()
            }
            w.emptyTags()
        }
        w.int32(1000)
        w.bool(false)
    }

    private static func deleteTopics(_ w: inout WireWriter) {
        w.array(["topic"]) { $0.string($1) }
        w.int32(1000)
    }

    private static func createPartitions(_ w: inout WireWriter) {
        w.array(["topic"]) { w, name in
            w.string(name)
            w.int32(3)
            w.array([1 as Int32]) { w, broker in
                w.array([broker]) { $0.int32($1) }
                w.emptyTags()
            }
            w.emptyTags()
        }
        w.int32(1000)
        w.bool(false)
    }

    private static func describeConfigs(_ version: Int16, _ w: inout WireWriter) {
        w.array(["topic"]) { w, name in
            w.int8(2)
            w.string(name)
            w.array(["retention.ms"]) { $0.string($1) }
            w.emptyTags()
        }
        w.bool(true)
        if version >= 3 { w.bool(false) }
    }

    private static func alterConfigs(_ w: inout WireWriter, incremental: Bool) {
        w.array(["topic"]) { w, name in
            w.int8(2)
            w.string(name)
            w.array(["retention.ms"]) { w, name in
                w.string(name)
                if incremental { w.int8(0) }
                w.nullableString("1")
                w.emptyTags()
            }
            w.emptyTags()
        }
        w.bool(false)
    }

    // MARK: Groups

    private static func findCoordinator(_ version: Int16, _ w: inout WireWriter) {
        if version < 4 { w.string("group") }
        if version >= 1 { w.int8(0) }
        if version >= 4 { w.array(["group"]) { $0.string($1) } }
    }

    private static func member(_ version: Int16, _ w: inout WireWriter) {
        w.string("group")
        w.int32(1)
        w.string("member")
        if version >= 3 { w.nullableString("instance") }
    }

    private static func joinGroup(_ version: Int16, _ w: inout WireWriter) {
        w.string("group")
        w.int32(10_000)
        if version >= 1 { w.int32(10_000) }
        w.string("")
        if version >= 5 { w.nullableString(nil) }
        w.string("consumer")
        w.array(["range"]) { w, name in
            w.string(name)
            w.bytes([1, 2, 3])
            w.emptyTags()
        }
    }

    private static func syncGroup(_ version: Int16, _ w: inout WireWriter) {
        member(version, &w)
        if version >= 5 {
            w.nullableString("consumer")
            w.nullableString("range")
        }
        w.array(["member"]) { w, name in
            w.string(name)
            w.bytes([1, 2, 3])
            w.emptyTags()
        }
    }

    private static func leaveGroup(_ version: Int16, _ w: inout WireWriter) {
        w.string("group")
        guard version >= 3 else { return w.string("member") }
        w.array(["member"]) { w, name in
            w.string(name)
            w.nullableString(nil)
            w.emptyTags()
        }
    }

    private static func offsetCommit(_ version: Int16, _ w: inout WireWriter) {
        w.string("group")
        w.int32(-1)
        w.string("")
        if version >= 7 { w.nullableString(nil) }
        if (2...4).contains(version) { w.int64(-1) }
        topics(&w) { w in
            w.int32(0)
            w.int64(5)
            if version >= 6 { w.int32(0) }
            if version == 1 { w.int64(-1) }
            w.nullableString("metadata")
        }
    }

    private static func offsetFetch(_ version: Int16, _ w: inout WireWriter) {
        func group(_ w: inout WireWriter) {
            w.string("group")
            w.array(["topic"]) { w, name in
                w.string(name)
                w.array([0 as Int32]) { $0.int32($1) }
                w.emptyTags()
            }
        }
        if version < 8 {
            group(&w)
        } else {
            w.array([0]) { w, _ in
                group(&w)
                w.emptyTags()
            }
        }
        if version >= 7 { w.bool(true) }
    }

    private static func offsetDelete(_ w: inout WireWriter) {
        w.string("group")
        topics(&w) { $0.int32(0) }
    }

    // MARK: Transactions

    private static func transaction(_ w: inout WireWriter, _ rest: (inout WireWriter) -> Void) {
        w.string("transactional")
        w.int64(1)
        w.int16(0)
        rest(&w)
    }

    private static func initProducerID(_ version: Int16, _ w: inout WireWriter) {
        w.nullableString("transactional")
        w.int32(1000)
        guard version >= 3 else { return }
        w.int64(-1)
        w.int16(-1)
    }

    private static func addPartitionsToTxn(_ w: inout WireWriter) {
        transaction(&w) { w in
            w.array(["topic"]) { w, name in
                w.string(name)
                w.array([0 as Int32]) { $0.int32($1) }
                w.emptyTags()
            }
        }
    }

    private static func txnOffsetCommit(_ version: Int16, _ w: inout WireWriter) {
        w.string("transactional")
        w.string("group")
        w.int64(1)
        w.int16(0)
        if version >= 3 {
            w.int32(1)
            w.string("member")
            w.nullableString(nil)
        }
        topics(&w) { w in
            w.int32(0)
            w.int64(5)
            if version >= 2 { w.int32(0) }
            w.nullableString("metadata")
        }
    }
}
