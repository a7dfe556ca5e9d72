internal import Identifiers
package import JSON
internal import Jobs
internal import Payloads
internal import RecordFormat

extension DeadLetterRecord {
    /// Writes the fields of the dead letter, without its tokens and its payload.
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
