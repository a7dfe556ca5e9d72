internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Replay
internal import Sends
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla group`: shows the state that the planner has stored for a group's phones.
    static let group = Command(
        name: "group", summary: "Shows a group's newest state, and when it started or ended.",
        usage: "ID --app APP [--user USER] [--json]", example: "flotilla group match-42 --app shop",
        settings: ["topics.", "kafka."],
        options: [
            .value("--app", "the app's id"),
            .value("--user", "the user of a private group, or a single recipient of a shared group"),
            .flag("--json", "prints the record of `groups` unchanged"),
        ]
    ) { invocation in
        guard invocation.positionals.count == 1, NameRules.problem(invocation.positionals[0]) == nil else {
            throw CommandError(status: .usage, "name one group")
        }
        let app = try invocation.requireApp()
        let group = invocation.positionals[0]
        let user = invocation.options["--user"]
        let key = ScopeKey(app: app, group: group, recipient: user.map { .user($0) })
        guard let value = try readRow(of: key, for: invocation) else {
            let userPhrase = user.map { " for user \($0)" } ?? ""
            throw CommandError(
                status: .noInput,
                "there was no send to group \(group) of app \(app)\(userPhrase) in the last three days"
            )
        }
        if invocation.isJSON {
            print(String(decoding: value, as: UTF8.self))
        } else {
            print(try GroupOutput(GroupRow.decode(value, with: JSONReader())).text)
        }
    }

    /// Returns the newest value of the row in `groups`, or nil if it does not exist. A private group's row is
    /// partitioned by its own key. A recipient's row of a shared group is partitioned by the group's key, so
    /// both partitions are read.
    private static func readRow(of key: ScopeKey, for invocation: Invocation) throws -> [UInt8]? {
        let layout = TopicLayout(settings: invocation.settings)
        let kafka = invocation.settings[KafkaSettings.self]
        try layout.require([.groups], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        let scanner = TopicScanner(kafka)
        let partitions = Set(
            [key, key.wholeGroup].map {
                Murmur2.partition(forKey: $0.bytes.span, partitionCount: layout.lanes)
            })
        var newestValue: [UInt8]?
        for partition in partitions {
            try scanner.read(TopicPartition(layout.name(of: .groups), Int32(partition))) { record in
                if let recordKey = [UInt8](copying: record.key), recordKey == key.bytes {
                    newestValue = [UInt8](copying: record.value)
                }
            }
        }
        return newestValue
    }
}
