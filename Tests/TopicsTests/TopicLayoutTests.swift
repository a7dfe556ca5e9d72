import Testing

@testable import Topics

// The topics of an installation: names, partitions and settings.

@Test func `every topic has a name with the prefix and an entry in the table`() {
    let layout = TopicLayout(prefix: "eu.", lanes: 7)
    for topic in TopicName.allCases { #expect(layout.name(of: topic) == "eu." + topic.rawValue) }
    #expect(layout.partitionCount(of: .catalog) == 1)
    #expect(layout.partitionCount(of: .superseded) == 1)
    #expect(
        TopicName.allCases.filter { layout.partitionCount(of: $0) != 7 } == [.catalog, .superseded, .members])
}

@Test func `the table has the values that ingest, gateway and sender need`() {
    let layout = TopicLayout()
    let dayMilliseconds = 86_400_000
    #expect(layout.requirements(of: .installations).cleanup == .compact)
    #expect(layout.requirements(of: .registry).cleanup == .compact)
    #expect(
        layout.requirements(of: .reports).cleanup == .delete(afterMilliseconds: Int64(7 * dayMilliseconds)))
    #expect(
        layout.requirements(of: .members).cleanup
            == .compactAndDelete(afterMilliseconds: Int64(dayMilliseconds)))
    #expect(
        layout.requirements(of: .audit).cleanup == .delete(afterMilliseconds: Int64(400 * dayMilliseconds)))
    #expect(
        layout.requirements(of: .superseded).cleanup
            == .compactAndDelete(afterMilliseconds: Int64(dayMilliseconds)))
    let sendBytesMax = layout.requirements(of: .sends).recordBytesMax ?? 0
    #expect(sendBytesMax > 4 << 20)
    #expect(layout.requirements(of: .expansions).recordBytesMax == sendBytesMax)
    #expect(
        (layout.requirements(of: .deadLetters).recordBytesMax ?? 0) > sendBytesMax,
        "a dead letter holds any record")
}

@Test func `the cluster stamps exactly the topics with a retention time`() {
    let layout = TopicLayout()
    for topic in TopicName.allCases {
        let configuration = layout.requirements(of: topic).configuration(replication: 3)
        let isStamped = configuration["message.timestamp.type"] == "LogAppendTime"
        #expect(isStamped == (configuration["retention.ms"] != nil), "\(topic)")
    }
    let unstamped: [TopicName] = [.catalog, .installations, .registry, .groups, .timers]
    #expect(TopicName.allCases.filter { !layout.requirements(of: $0).isStampedByCluster } == unstamped)
}

@Test func `a missing setting of an old topic is reported with the command that fixes it`() {
    let layout = TopicLayout(lanes: 4)
    func mismatches(of topic: TopicName, changedBy change: [String: String]) -> [String] {
        let configuration = layout.requirements(of: topic).configuration(replication: 3).merging(change) {
            $1
        }
        let partitions = layout.partitionCount(of: topic)
        return layout.mismatches(
            of: topic, partitions: partitions, replicas: 3, configuration: configuration
        ).map(\.description)
    }
    let kafkaCommand =
        "kafka-configs --bootstrap-server BROKER --alter --entity-type topics --entity-name flotilla."
    #expect(
        mismatches(of: .events, changedBy: ["message.timestamp.type": "CreateTime"]) == [
            "topic flotilla.events has message.timestamp.type CreateTime, LogAppendTime is needed; fix it "
                + "with `flotilla topics alter`, or with your cluster's own tool: "
                + "\(kafkaCommand)events --add-config message.timestamp.type=LogAppendTime"
        ])
    #expect(
        mismatches(of: .starts, changedBy: ["cleanup.policy": "compact"]).first?.hasSuffix(
            "\(kafkaCommand)starts --add-config cleanup.policy=[compact,delete]") == true)
    #expect(
        mismatches(of: .audit, changedBy: ["retention.ms": "5"]).first?.hasSuffix(
            "\(kafkaCommand)audit --add-config retention.ms=34560000000") == true)
}

@Test(arguments: [
    ("", true), ("flotilla.", true), ("a_b-C.9", true), ("flotilla/", false), ("ä", false), ("a b", false),
    (String(repeating: "x", count: 201), false),
])
func `a prefix has only characters that Kafka allows in a name`(prefix: String, isValid: Bool) {
    #expect((TopicLayout.problem(withPrefix: prefix) == nil) == isValid)
}

@Test func `larger values fit, smaller ones do not, and each mismatch is reported`() {
    let layout = TopicLayout(lanes: 4)
    func mismatches(
        of topic: TopicName, partitions: Int, changedBy change: [String: String] = [:], replicas: Int = 3
    ) -> [TopicMismatch.Property] {
        let configuration = layout.requirements(of: topic).configuration(replication: 3).merging(change) {
            $1
        }
        return layout.mismatches(
            of: topic, partitions: partitions, replicas: replicas, configuration: configuration
        ).map(\.property)
    }
    #expect(mismatches(of: .reports, partitions: 4) == [])
    #expect(mismatches(of: .reports, partitions: 4, changedBy: ["retention.ms": "-1"]) == [])
    #expect(mismatches(of: .reports, partitions: 4, changedBy: ["retention.ms": "604800001"]) == [])
    #expect(mismatches(of: .reports, partitions: 4, changedBy: ["retention.ms": "604799999"]) == [.retention])
    #expect(
        mismatches(of: .reports, partitions: 4, changedBy: ["message.timestamp.type": "CreateTime"]) == [
            .timestamps
        ])
    #expect(mismatches(of: .reports, partitions: 0) == [.existence])
    #expect(
        mismatches(
            of: .registry, partitions: 5, changedBy: ["cleanup.policy": "delete", "delete.retention.ms": "1"])
            == [.partitions, .cleanup, .deleteRetention])
    // Kafka's default keeps the records of an erased user for ever.
    for lag in ["9223372036854775807", "604800001"] {
        #expect(
            mismatches(of: .groups, partitions: 4, changedBy: ["max.compaction.lag.ms": lag])
                == [.compactionLag])
    }
    #expect(mismatches(of: .groups, partitions: 4, changedBy: ["max.compaction.lag.ms": "86400000"]) == [])
    #expect(
        mismatches(of: .superseded, partitions: 1, changedBy: ["cleanup.policy": "delete, compact"]) == [])
    #expect(
        mismatches(of: .reports, partitions: 4, changedBy: ["min.insync.replicas": "1"]) == [.insyncReplicas])
    #expect(
        mismatches(of: .reports, partitions: 4, changedBy: ["min.insync.replicas": "1"], replicas: 2) == [])
    #expect(
        mismatches(of: .sends, partitions: 4, changedBy: ["max.message.bytes": "1048588"]) == [.recordBytes])
}
