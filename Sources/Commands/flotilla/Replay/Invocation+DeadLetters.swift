internal import Cryptography
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Replay
internal import Settings
internal import Telemetry
internal import Topics

/// The arguments of commands on dead letters and replays.
extension Invocation {
    private static let listLimitDefault = 100
    private static let listLimitMax = 10_000

    /// Returns a new id of a call that writes to topics. An interrupted call continues under its id. It
    /// begins with a letter, so that nothing takes it for a number.
    static func newRunID() -> String { "a" + Hex.text(of: Random.bytes(count: 6)) }

    /// Returns the filter that the options and the ids of dead letters describe.
    func deadLetterFilter(ids: [String]) throws -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        if hasOption("--app") { filter.app = try requireApp() }
        filter.stage = options["--stage"]
        filter.code = options["--reason"]
        filter.since = try time(ofOption: "--since")
        filter.until = try time(ofOption: "--until")
        guard ids.count <= DeadLetterFilter.idsMax else {
            throw CommandError(status: .usage, "name at most \(DeadLetterFilter.idsMax) letters")
        }
        for text in ids {
            guard let id = DeadLetterID(text) else {
                throw CommandError(
                    status: .usage,
                    "\(text) is not the name of a dead letter; a name is partition and offset: 3/1042")
            }
            filter.ids.insert(id)
        }
        return filter
    }

    /// Returns the time of the option in milliseconds since 1970, or nil without the option. The value is a date,
    /// or a period before now (`2h`).
    func time(ofOption option: String) throws -> Int64? {
        guard let text = options[option] else { return nil }
        let now = WallTime.now().milliseconds
        if let period = Milliseconds(settingText: text) { return max(0, now - Int64(period.count)) }
        let seconds = unsafe Array(text.utf8).withUnsafeBufferPointer {
            unsafe UTCDate.seconds(iso8601: $0)
        }
        guard let seconds, seconds >= 0 else {
            throw CommandError(
                status: .usage,
                "\(option) must be \(Milliseconds.typeDescription), or a date such as 2026-11-20T20:00:00Z")
        }
        return seconds * 1_000
    }

    /// Returns the greatest number of dead letters that are listed.
    func deadLetterLimit() throws -> Int {
        guard let text = options["--limit"] else { return Self.listLimitDefault }
        guard let limit = Int(text), (1...Self.listLimitMax).contains(limit) else {
            throw CommandError(status: .usage, "--limit must be a number from 1 to \(Self.listLimitMax)")
        }
        return limit
    }

    /// Refuses a call without a filter, because such a call is usually a mistake.
    func requireSelection(in filter: DeadLetterFilter) throws {
        guard !filter.isAll || hasOption("--every") else {
            throw CommandError(
                status: .usage,
                "select dead letters with their names, --app, --stage, --reason, --since, --until, or --every"
            )
        }
    }

    /// Returns access to the dead letters. Throws at once if the cluster, the topic or the number of lanes is
    /// wrong.
    func deadLetterTopic() throws -> DeadLetterTopic {
        let layout = TopicLayout(settings: settings)
        let kafka = settings[KafkaSettings.self]
        try layout.require([.deadLetters], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        return DeadLetterTopic(settings: kafka, layout: layout)
    }
}
