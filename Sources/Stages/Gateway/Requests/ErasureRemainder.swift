internal import JSON
internal import Topics

/// The data that still names a user after the user's erasure, as the answer to the erasure lists it: each place with
/// its content, and with the time until which the content stays.
///
/// Kafka deletes closed segments as a whole. So a record stays for the retention of its topic, and on a quiet topic for
/// the topic's `segment.ms` longer. The times here do not contain that delay, because it is a setting of the cluster.
struct ErasureRemainder {
    let layout: TopicLayout
    /// The time of the erasure, in milliseconds since 1970.
    let erasedAt: Int64

    private static let dayMilliseconds: Int64 = 86_400_000

    /// Writes the list.
    func write(to json: inout JSONWriter) {
        json.name("remaining")
        json.beginArray()
        for topic in TopicName.allCases {
            guard let content = Self.content(of: topic) else { continue }
            let days = Self.rowDays(of: topic)
            let until = erasedAt + days * Self.dayMilliseconds + layout.retentionMilliseconds(of: topic)
            write("topic \(layout.name(of: topic))", content: content, until: until, to: &json)
        }
        write(
            "insight's files",
            content: "the same as in the topics events, receipts and audit; queries do not show it",
            until: erasedAt + layout.retentionMilliseconds(of: .audit), to: &json)
        write(
            "files of ingest, fan-out and scheduler",
            content: "free pages with earlier rows, until the file reuses them", until: nil, to: &json)
        write(
            "APNs",
            content:
                "pushes that it has accepted for a phone that is off, until they expire; broadcasts on channels that an activity of the phone listens to",
            until: nil, to: &json)
        write(
            "the user's phones",
            content: "running activities, until the system ends them after 12 hours at most",
            until: erasedAt + Self.dayMilliseconds / 2, to: &json)
        json.endArray()
    }

    private func write(_ place: String, content: String, until: Int64?, to json: inout JSONWriter) {
        json.beginObject()
        json.field("where", place)
        json.field("what", content)
        json.field("until", until)
        json.endObject()
    }

    /// Returns the part of a topic that names the user. Nil if the topic names no users.
    private static func content(of topic: TopicName) -> String? {
        switch topic {
        case .catalog, .members: nil
        case .reports: "reports of the user's phones, and this erasure"
        case .installations:
            "the user's id and the time of this erasure, which reject late reports; deleted rows"
        case .registry: "deleted rows"
        case .events: "events of the user's phones"
        case .sends, .sendsTimed: "sends that name the user, or a group that is private to the user"
        case .subscriptions: "private groups of the user"
        case .groups: "states of the user in groups, and private groups of the user"
        case .superseded: "the user's id in this erasure, and private groups of the user"
        case .expansions, .expansionsUrgent: "sends that name the user"
        case .progress: "the progress of sends to private groups of the user"
        case .starts: "starts and ENDs of the user's activities"
        case .jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m:
            "pushes to the user; those that have not left are dropped"
        case .receipts: "outcomes of pushes to the user"
        case .schedules, .schedulesAuto: "commands about schedules of the user, and this erasure"
        case .timers: "deleted schedules, and the idempotency keys of a day"
        case .replies: "answers to calls about the user's schedules"
        case .audit: "your own calls that name the user"
        case .auditSends: "your own sends to the user's private groups"
        case .deadLetters: "rejected reports, sends and pushes of the user"
        }
    }

    /// Returns the days for which a row with the user stays before it is deleted.
    private static func rowDays(of topic: TopicName) -> Int64 {
        switch topic {
        // Ingest remembers an erasure while a report from before it can arrive (`Retention.erasureEnd`).
        case .installations: 10
        // `GroupRow.retentionMilliseconds`.
        case .groups: 3
        // The scheduler keeps idempotency keys for a day.
        case .timers: 1
        default: 0
        }
    }
}
