internal import Cryptography
package import JSON
internal import LiveActivity

/// The JSON form of a dead letter, without its tokens and its payload.
extension Letter {
    package func write(_ state: LetterJournal.State, to json: inout JSONWriter) {
        json.field("letter", name.text)
        json.field("at", why.at)
        json.field("stage", why.stage)
        json.field("app", app)
        json.field("reason", why.code)
        json.field("message", why.reason)
        json.field("jobs", jobs)
        json.field("state", state.rawValue)
        json.field("topic", why.topic)
        json.field("partition", Int(why.partition))
        json.field("offset", why.offset)
        json.field("writtenAt", why.writtenAt)
        json.field("bytes", value?.count ?? 0)
        json.field("sentAgainFrom", before.isEmpty ? nil : before)
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
package struct LetterJob: Sendable {
    package let installation: String
    package let entry: String
    package let recipient: String
    /// A digest of the token as stored, sealed or not.
    package let token: String
}

extension LetterSheet {
    package var jobs: [LetterJob] {
        index.lines.map { line in
            LetterJob(
                installation: text(line.installation), entry: text(line.entry),
                recipient: text(line.recipient), token: Self.redacted(text(line.token)))
        }
    }

    private static func redacted(_ token: String) -> String {
        "tok:" + Hex.text(Array(SHA256.digest(Array(token.utf8)).prefix(4)))
    }
}

extension LetterSummary {
    /// The rows sorted by stage, app, reason and state.
    package var sorted: [(kind: Kind, row: Row)] {
        rows.sorted { a, b in
            (a.key.stage, a.key.app ?? "", a.key.code, a.key.state.rawValue)
                < (b.key.stage, b.key.app ?? "", b.key.code, b.key.state.rawValue)
        }.map { (kind: $0.key, row: $0.value) }
    }

    package static func write(_ kind: Kind, _ row: Row, to json: inout JSONWriter) {
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
