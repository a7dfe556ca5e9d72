internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Payloads
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
            ("--app", true, "the app's id"),
            ("--user", true, "the user of a private group, or a single recipient of a shared group"),
            ("--json", false, "prints the record of `groups` unchanged"),
        ]
    ) { invocation in
        guard invocation.positionals.count == 1, NameRules.problem(invocation.positionals[0]) == nil else {
            throw CommandError(status: .usage, "name one group")
        }
        let app = try invocation.requireApp()
        let user = invocation.options["--user"]
        let key = ScopeKey(app: app, group: invocation.positionals[0], recipient: user.map { .user($0) })
        guard let value = try readRow(of: key, for: invocation) else {
            let userPhrase = user.map { " for user \($0)" } ?? ""
            throw CommandError(
                status: .noInput,
                "there was no send to group \(invocation.positionals[0]) of app \(app)\(userPhrase) in the last three days"
            )
        }
        if invocation.options["--json"] != nil {
            print(String(decoding: value, as: UTF8.self))
        } else {
            print(try GroupOutput(GroupRow.decode(value, with: JSONReader())).text)
        }
    }

    /// Returns the row. A private group's row is partitioned by its own key. A recipient's row of a shared
    /// group is partitioned by the group's key, so both partitions are read.
    private static func readRow(of key: ScopeKey, for invocation: Invocation) throws -> [UInt8]? {
        let layout = TopicLayout(settings: invocation.settings)
        let kafka = invocation.settings[KafkaSettings.self]
        try layout.require([.groups], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        let scanner = TopicScanner(kafka)
        let partitions = Set(
            [key, key.wholeGroup].map {
                Murmur2.partition(forKey: $0.bytes.span, partitionCount: layout.lanes)
            })
        var newest: [UInt8]?
        for partition in partitions {
            try scanner.read(TopicPartition(layout.name(of: .groups), Int32(partition))) { record in
                if let found = [UInt8](copying: record.key), found == key.bytes {
                    newest = [UInt8](copying: record.value)
                }
            }
        }
        return newest
    }
}

/// A row of `groups` as lines for a person.
private struct GroupOutput {
    private let row: GroupRow

    init(_ row: GroupRow) { self.row = row }

    var text: String {
        var lines = [("state", stateText)]
        if let type = row.attributesType { lines.append(("type", type)) }
        if let newest = row.newestState {
            let content = newest.content.contentState.map { String(decoding: $0.bytes, as: UTF8.self) }
            lines.append(("newest", "\(newest.content.event.rawValue) \(content ?? "without content")"))
            lines.append(("version", "\(newest.version)"))
            lines.append(("send", "\(newest.send), accepted \(timeText(milliseconds: newest.acceptedAt))"))
        } else {
            lines.append(("version", "\(row.version)"))
        }
        lines.append(("updates", "\(row.updateCount) in this life"))
        if let end = row.endDate { lines.append(("ends", timeText(milliseconds: end * 1_000))) }
        if let held = row.heldSend { lines.append(("waiting", held.id)) }
        lines.append(("last send", timeText(milliseconds: row.lastSendAt)))
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { name, value in
            name + String(repeating: " ", count: width + 2 - name.count) + value
        }.joined(separator: "\n")
    }

    private var stateText: String {
        if row.endVersion > 0, row.endVersion >= row.generation {
            return "ended \(timeText(milliseconds: row.endVersion * 1_000))"
        }
        if row.generation > 0 { return "runs since \(timeText(milliseconds: row.generation * 1_000))" }
        return "runs; no start was seen, its app began it"
    }

    private func timeText(milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }
}
