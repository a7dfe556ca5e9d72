internal import Identifiers
internal import Ingest
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Replay
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla installation`: the first step to answer "why does this phone show the old score?"
    static let installation = Command(
        name: "installation",
        summary:
            "Shows one installation, without its tokens, and why pushes do not reach it.",
        usage: "ID --app APP [--json]", example: "flotilla installation 7F3A-11 --app shop",
        settings: ["topics.", "kafka."], options: options
    ) { invocation in
        let (app, id) = try appAndID(from: invocation)
        let key = RecordKey.join(app, Recipient.installation(id).text)
        var newest: [UInt8]?
        try scan(.installations, partitionedBy: key, for: invocation) { found, value in
            if found == key { newest = value }
        }
        guard let newest else {
            throw CommandError(
                status: .noInput, "ingest has merged no report of installation \(id) of app \(app)")
        }
        let known = try Installation.decode(newest, with: JSONReader())
        try showRegistryRows(
            app: app, recipient: known.recipient, installation: id, problems: known.deliveryProblems,
            for: invocation)
    }

    static let user = Command(
        name: "user", summary: "Shows which tokens reach one user, without the tokens.",
        usage: "ID --app APP [--json]", example: "flotilla user jane@example.com --app shop",
        settings: ["topics.", "kafka."], options: options
    ) { invocation in
        let (app, id) = try appAndID(from: invocation)
        try showRegistryRows(app: app, recipient: .user(id), installation: nil, for: invocation)
    }

    private static let options: [(flag: String, takesValue: Bool, sentence: String)] = [
        ("--app", true, "the app's id"),
        ("--json", false, "prints one JSON object per line instead of a table"),
    ]

    private static func appAndID(from invocation: Invocation) throws -> (app: String, id: String) {
        guard invocation.positionals.count == 1, let id = invocation.positionals.first,
            NameRules.problem(id) == nil
        else {
            throw CommandError(status: .usage, "name one id")
        }
        let app = try invocation.requireApp()
        return (app, id)
    }

    private static func scan(
        _ topic: TopicName, partitionedBy key: [UInt8], for invocation: Invocation,
        each: ([UInt8], [UInt8]?) -> Void
    ) throws {
        let layout = TopicLayout(settings: invocation.settings)
        let kafka = invocation.settings[KafkaSettings.self]
        // Throws at once if the cluster, the topic or the number of lanes is wrong.
        try layout.require([topic], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        let partition = Murmur2.partition(forKey: key.span, partitionCount: layout.lanes)
        try TopicScanner(kafka).read(TopicPartition(layout.name(of: topic), Int32(partition))) { record in
            if let key = [UInt8](copying: record.key) { each(key, [UInt8](copying: record.value)) }
        }
    }

    private static func showRegistryRows(
        app: String, recipient: Recipient, installation: String?, problems: [DeliveryProblem] = [],
        for invocation: Invocation
    ) throws {
        var rows: [RegistryKey: RegistryRow] = [:]
        let reader = JSONReader()
        let lane = RegistryKey.partitionKey(app: app, recipient: recipient)
        try scan(.registry, partitionedBy: lane, for: invocation) { key, value in
            guard key.starts(with: lane),
                let key = unsafe key.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }),
                key.recipient == recipient, installation == nil || key.installation == installation
            else { return }
            rows[key] = value.flatMap { value in
                try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                    try unsafe RegistryRow.decode(bytes, under: key.entry, with: reader)
                }
            }
        }
        let lines = rows.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map(
            RegistryRowOutput.init)
        if invocation.options["--json"] != nil {
            for line in lines { print(line.json) }
            for obstacle in problems { print(obstacle.json) }
        } else {
            print("recipient \(recipient.text) of app \(app)")
            print(
                lines.isEmpty
                    ? "nothing reaches it"
                    : Table(headers: RegistryRowOutput.headers, rows: lines.map(\.cells)).text)
            for obstacle in problems { print(obstacle.text) }
        }
    }
}

extension DeliveryProblem {
    fileprivate var text: String { "\(entry?.text ?? "the phone") is not reached: \(explanation)" }

    fileprivate var json: String {
        var line = JSONLine()
        if let entry { line.field("entry", entry.text) }
        line.field("obstacle", code.rawValue)
        line.field("message", explanation)
        return line.text
    }
}

/// One row of the registry for a person.
private struct RegistryRowOutput {
    static let headers = [
        "installation", "entry", "token", "type", "group", "heard of", "expires", "moved to",
    ]

    private let key: RegistryKey
    private let row: RegistryRow

    init(key: RegistryKey, row: RegistryRow) { (self.key, self.row) = (key, row) }

    var cells: [String] {
        func timeText(milliseconds: Int64?) -> String {
            milliseconds.map { WallTime(milliseconds: $0).rfc3339 } ?? "–"
        }
        let owner = key.installation ?? "–"
        switch row {
        case .token(let token):
            let shown = token.dismissedAt == nil ? token.tokenHash.map(PushToken.shortForm) : "dismissed"
            return [
                owner, key.entry.text, shown ?? "–", token.attributesType ?? "–", token.group ?? "–",
                timeText(milliseconds: token.registeredAt), timeText(milliseconds: token.expiresAt),
                token.movedTo?.text ?? "–",
            ]
        case .profile(let profile):
            let tags = profile.tags.joined(separator: ",")
            return [
                owner, key.entry.text, "–", "tags \(tags)", "–", timeText(milliseconds: profile.updatedAt),
                "–", "–",
            ]
        }
    }

    /// The fields of the row under their names in the record. Missing values are left out. Times are
    /// milliseconds since 1970.
    var json: String {
        var line = JSONLine()
        if let installation = key.installation { line.field("installation", installation) }
        line.field("entry", key.entry.text)
        switch row {
        case .token(let token):
            if let at = token.dismissedAt {
                line.field("dismissedAt", at)
            } else if let hash = token.tokenHash {
                line.field("token", PushToken.shortForm(hash: hash))
            }
            if let type = token.attributesType { line.field("attributesType", type) }
            if let group = token.group { line.field("groupId", group) }
            line.field("registeredAt", token.registeredAt)
            if let at = token.expiresAt { line.field("expiresAt", at) }
            if let recipient = token.movedTo { line.field("movedTo", recipient.text) }
        case .profile(let profile):
            line.field("tags", profile.tags)
            line.field("updatedAt", profile.updatedAt)
        }
        return line.text
    }
}
