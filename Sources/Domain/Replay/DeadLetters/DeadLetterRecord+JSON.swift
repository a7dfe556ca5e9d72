internal import Cryptography
internal import Identifiers
package import JSON
internal import Jobs
internal import Payloads
internal import RecordFormat

/// The JSON form of a dead letter, without its tokens and its payload.
extension DeadLetterRecord {
    package func write(state: DeadLetterJournal.DeadLetterState, to json: inout JSONWriter) {
        json.field("letter", id.text)
        json.field("at", rejection.rejectedAt)
        json.field("stage", rejection.stage)
        json.field("app", app)
        json.field("reason", rejection.code)
        json.field("message", rejection.reason)
        json.field("jobs", jobCount)
        json.field("state", state.rawValue)
        json.field("topic", rejection.topic)
        json.field("partition", Int(rejection.partition))
        json.field("offset", rejection.offset)
        json.field("writtenAt", rejection.writtenAt)
        json.field("bytes", value?.count ?? 0)
        json.field("sentAgainFrom", previousIDs.isEmpty ? nil : previousIDs)
    }

    /// Writes the fields of its send, if the dead letter is a sheet.
    package func writeSheet(to json: inout JSONWriter) {
        guard let sheet else { return }
        json.field("send", sheet.head.send)
        json.field("groupId", sheet.head.group)
        json.field("event", sheet.head.event.rawValue)
        json.field("version", sheet.head.version)
        json.field("deadline", sheet.head.deadline)
    }
}

/// One push of a dead letter.
package struct DeadLetterJob: Sendable {
    package let installation: String
    package let entry: String
    package let recipient: String
    /// A digest of the token as stored, sealed or not.
    package let token: String
}

extension DeadLetterSheet {
    package var jobs: [DeadLetterJob] {
        index.lines.map { line in
            DeadLetterJob(
                installation: text(in: line.installation), entry: text(in: line.entry),
                recipient: text(in: line.recipient), token: Self.redacted(text(in: line.token)))
        }
    }

    private static func redacted(_ token: String) -> String {
        "tok:" + Hex.text(of: Array(SHA256.digest(of: Array(token.utf8)).prefix(4)))
    }
}

extension DeadLetterSummary {
    /// The rows sorted by stage, app, reason and state.
    package var sorted: [(kind: Key, row: Row)] {
        rows.sorted { a, b in
            (a.key.stage, a.key.app ?? "", a.key.code, a.key.state.rawValue)
                < (b.key.stage, b.key.app ?? "", b.key.code, b.key.state.rawValue)
        }.map { (kind: $0.key, row: $0.value) }
    }

    package static func write(_ kind: Key, row: Row, to json: inout JSONWriter) {
        json.field("stage", kind.stage)
        json.field("app", kind.app)
        json.field("reason", kind.code)
        json.field("state", kind.state.rawValue)
        json.field("letters", row.letters)
        json.field("jobs", row.jobs)
        json.field("first", row.first)
        json.field("last", row.last)
    }
}
