import Testing

@testable import Topics

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
    let day = 86_400_000
    #expect(layout.requirements(of: .installations).cleanup == .compact)
    #expect(layout.requirements(of: .registry).cleanup == .compact)
    #expect(layout.requirements(of: .reports).cleanup == .delete(afterMilliseconds: Int64(7 * day)))
    #expect(layout.requirements(of: .members).cleanup == .compactAndDelete(afterMilliseconds: Int64(day)))
    #expect(layout.requirements(of: .audit).cleanup == .delete(afterMilliseconds: Int64(400 * day)))
    #expect(layout.requirements(of: .superseded).cleanup == .compactAndDelete(afterMilliseconds: Int64(day)))
    let large = layout.requirements(of: .sends).recordBytesMax ?? 0
    #expect(large > 4 << 20)
    #expect(layout.requirements(of: .expansions).recordBytesMax == large)
    #expect(
        (layout.requirements(of: .deadLetters).recordBytesMax ?? 0) > large, "a dead letter holds any record")
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
    func told(_ topic: TopicName, _ change: [String: String]) -> [String] {
        let configuration = layout.requirements(of: topic).configuration(replication: 3).merging(change) {
            $1
        }
        let partitions = layout.partitionCount(of: topic)
        return layout.mismatches(
            of: topic, partitions: partitions, replicas: 3, configuration: configuration
        ).map(\.description)
    }
    let kafka = "kafka-configs --bootstrap-server BROKER --alter --entity-type topics --entity-name flotilla."
    #expect(
        told(.events, ["message.timestamp.type": "CreateTime"]) == [
            "topic flotilla.events has message.timestamp.type CreateTime, LogAppendTime is needed; fix it "
                + "with `flotilla topics alter`, or with your cluster's own tool: "
                + "\(kafka)events --add-config message.timestamp.type=LogAppendTime"
        ])
    #expect(
        told(.starts, ["cleanup.policy": "compact"]).first?.hasSuffix(
            "\(kafka)starts --add-config cleanup.policy=[compact,delete]") == true)
    #expect(
        told(.audit, ["retention.ms": "5"]).first?.hasSuffix(
            "\(kafka)audit --add-config retention.ms=34560000000") == true)
}

@Test(arguments: [
    ("", true), ("flotilla.", true), ("a_b-C.9", true), ("flotilla/", false), ("ä", false), ("a b", false),
    (String(repeating: "x", count: 201), false),
])
func `a prefix has only characters that Kafka allows in a name`(prefix: String, isGood: Bool) {
    #expect((TopicLayout.problem(withPrefix: prefix) == nil) == isGood)
}

@Test func `larger values fit, smaller ones do not, and each mismatch is reported`() {
    let layout = TopicLayout(lanes: 4)
    func faults(
        _ topic: TopicName, _ partitions: Int, _ change: [String: String], replicas: Int = 3
    ) -> [TopicMismatch.Property] {
        let configuration = layout.requirements(of: topic).configuration(replication: 3).merging(change) {
            $1
        }
        return layout.mismatches(
            of: topic, partitions: partitions, replicas: replicas, configuration: configuration
        ).map(\.property)
    }
    #expect(faults(.reports, 4, [:]) == [])
    #expect(faults(.reports, 4, ["retention.ms": "-1"]) == [])
    #expect(faults(.reports, 4, ["retention.ms": "604800001"]) == [])
    #expect(faults(.reports, 4, ["retention.ms": "604799999"]) == [.retention])
    #expect(faults(.reports, 4, ["message.timestamp.type": "CreateTime"]) == [.timestamps])
    #expect(faults(.reports, 0, [:]) == [.existence])
    #expect(
        faults(.registry, 5, ["cleanup.policy": "delete", "delete.retention.ms": "1"])
            == [.partitions, .cleanup, .deleteRetention])
    #expect(faults(.superseded, 1, ["cleanup.policy": "delete, compact"]) == [])
    #expect(faults(.reports, 4, ["min.insync.replicas": "1"]) == [.insyncReplicas])
    #expect(faults(.reports, 4, ["min.insync.replicas": "1"], replicas: 2) == [])
    #expect(faults(.sends, 4, ["max.message.bytes": "1048588"]) == [.recordBytes])
}
