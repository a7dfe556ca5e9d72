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
    /// `flotilla installation`: shows the registry's rows of one installation, and the problems that keep
    /// pushes from it. It is the first step to answer "why does this phone show the old score?"
    static let installation = Command(
        name: "installation",
        summary:
            "Shows one installation, without its tokens, and why pushes do not reach it.",
        usage: "ID --app APP [--json]", example: "flotilla installation 7F3A-11 --app shop",
        settings: ["topics.", "kafka."], options: recipientOptions
    ) { invocation in
        let (app, id) = try appAndID(from: invocation)
        let key = RecordKey.join(app, Recipient.installation(id).text)
        var newestValue: [UInt8]?
        try readPartition(of: .installations, forKey: key, for: invocation) { recordKey, value in
            if recordKey == key { newestValue = value }
        }
        guard let newestValue else {
            throw CommandError(
                status: .noInput, "ingest has merged no report of installation \(id) of app \(app)")
        }
        let stored = try Installation.decode(newestValue, with: JSONReader())
        try showRegistryRows(
            app: app, recipient: stored.recipient, installation: id, problems: stored.deliveryProblems,
            for: invocation)
    }

    /// `flotilla user`: shows the registry's rows of one user.
    static let user = Command(
        name: "user", summary: "Shows which tokens reach one user, without the tokens.",
        usage: "ID --app APP [--json]", example: "flotilla user jane@example.com --app shop",
        settings: ["topics.", "kafka."], options: recipientOptions
    ) { invocation in
        let (app, id) = try appAndID(from: invocation)
        try showRegistryRows(app: app, recipient: .user(id), installation: nil, for: invocation)
    }

    private static let recipientOptions: [CommandOption] = [
        .value("--app", "the app's id"),
        .flag("--json", "prints one JSON object per line instead of a table"),
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

    /// Reads the partition of this key to its end, and calls `body` with each record's key and value. A
    /// tombstone has no value.
    private static func readPartition(
        of topic: TopicName, forKey key: [UInt8], for invocation: Invocation,
        body: ([UInt8], [UInt8]?) -> Void
    ) throws {
        let layout = TopicLayout(settings: invocation.settings)
        let kafka = invocation.settings[KafkaSettings.self]
        // Throws at once if the cluster, the topic or the number of lanes is wrong.
        try layout.require([topic], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        let partition = Murmur2.partition(forKey: key.span, partitionCount: layout.lanes)
        try TopicScanner(kafka).read(TopicPartition(layout.name(of: topic), Int32(partition))) { record in
            if let recordKey = [UInt8](copying: record.key) {
                body(recordKey, [UInt8](copying: record.value))
            }
        }
    }

    /// Prints the rows of the registry that belong to the recipient, of one installation or of all.
    private static func showRegistryRows(
        app: String, recipient: Recipient, installation: String?, problems: [DeliveryProblem] = [],
        for invocation: Invocation
    ) throws {
        var rows: [RegistryKey: RegistryRow] = [:]
        let reader = JSONReader()
        let keyPrefix = RegistryKey.partitionKey(app: app, recipient: recipient)
        try readPartition(of: .registry, forKey: keyPrefix, for: invocation) { recordKey, value in
            guard recordKey.starts(with: keyPrefix),
                let key = unsafe recordKey.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }),
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
        if lines.isEmpty, installation == nil, case .user(let id) = recipient {
            throw CommandError(
                status: .noInput,
                "no token reaches user \(id) of app \(app); check the spelling, and that a phone has reported the user"
            )
        }
        if invocation.isJSON {
            for line in lines { print(line.json) }
            for problem in problems { print(problem.json) }
        } else {
            print("recipient \(recipient.text) of app \(app)")
            print(
                lines.isEmpty
                    ? "nothing reaches it"
                    : Table(headers: RegistryRowOutput.headers, rows: lines.map(\.cells)).text)
            for problem in problems { print(problem.text) }
        }
    }
}

extension DeliveryProblem {
    fileprivate var text: String { "\(entry?.text ?? "the phone") is not reached: \(explanation)" }

    fileprivate var json: String {
        JSONLine.text { json in
            json.field("entry", entry?.text)
            json.field("obstacle", code.rawValue)
            json.field("message", explanation)
        }
    }
}
