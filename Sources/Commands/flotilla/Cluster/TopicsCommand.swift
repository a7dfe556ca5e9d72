internal import JSON
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla topics`: creates and corrects the topics. An operator needs it before the first start, and
    /// when a stage reports that a topic has wrong settings.
    static let topics = Command(
        name: "topics",
        summary:
            "Creates missing topics, corrects the settings of topics that do not fit, or checks all topics.",
        usage: "[check | create | alter] [--lanes N] [--replication N] [--json]",
        example: "flotilla topics create --kafka-brokers kafka-1:9092 --lanes 24 --replication 3",
        namespace: "topics", settings: ["topics.", "kafka."],
        options: [.flag("--json", "prints one JSON object per line instead of a table")]
    ) { invocation in
        let verb = invocation.positionals.first ?? "check"
        guard invocation.positionals.count <= 1, ["check", "create", "alter"].contains(verb) else {
            throw CommandError(status: .usage, "use check, create or alter")
        }
        let layout = TopicLayout(settings: invocation.settings)
        let admin = try AdminClient(
            settings: invocation.settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        let created = verb == "create" ? try layout.create(on: admin) : []
        let altered = verb == "alter" ? try layout.alter(on: admin).map(\.topic) : []
        let mismatches = try layout.check(on: admin)
        let rows = TopicName.allCases.map { topic in
            let name = layout.name(of: topic)
            let topicMismatches = mismatches.filter { $0.topic == name }
            let state: String =
                if !topicMismatches.isEmpty {
                    "does not fit"
                } else if created.contains(name) {
                    "created"
                } else if altered.contains(name) {
                    "altered"
                } else {
                    "fits"
                }
            return TopicOutput(
                topic: name, partitions: layout.partitionCount(of: topic), state: state,
                mismatches: topicMismatches)
        }
        if invocation.isJSON {
            for row in rows { print(row.json) }
        } else {
            print(Table(headers: ["topic", "partitions", "state"], rows: rows.map(\.cells)).text)
        }
        if !mismatches.isEmpty { throw MismatchedTopics(mismatches: mismatches) }
    }
}

/// One topic in the output of `flotilla topics`.
private struct TopicOutput {
    let topic: String
    let partitions: Int
    let state: String
    let mismatches: [TopicMismatch]

    var cells: [String] { [topic, String(partitions), state] }

    var json: String {
        JSONLine.text { json in
            json.field("topic", topic)
            json.field("partitions", partitions)
            json.field("state", state)
            json.name("mismatches")
            json.beginArray()
            for mismatch in mismatches {
                json.beginObject()
                json.field("property", mismatch.property.rawValue)
                json.field("have", mismatch.actual)
                json.field("want", mismatch.required)
                json.endObject()
            }
            json.endArray()
        }
    }
}
