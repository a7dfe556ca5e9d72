internal import APNs
internal import HTTP2
internal import Identifiers
internal import JSON

// The JSON form of the summary, for `GET /v1/summary`. Programs read the names of the fields, so they stay even where
// a property has another name.

extension JournalSummary {
    func writeFields(to json: inout JSONWriter) {
        json.field("requests", requests)
        writeAnswers(to: &json)
        writeResets(to: &json)
        json.field("notProcessed", notProcessed)
        json.field("silent", unanswered)
        json.field("others", otherOutcomes)
        json.field("answersLost", answersLost)
        json.field("delivered", delivered)
        json.object("doubled") { writeDuplicates(to: &$0) }
        json.object("targets") { writeTargets(to: &$0) }
    }

    private func writeAnswers(to json: inout JSONWriter) {
        json.name("answered")
        json.beginArray()
        for (kind, count) in answered.sorted(by: { $0.key.order < $1.key.order }) {
            json.beginObject()
            json.field("status", kind.status)
            json.field("reason", kind.reason)
            json.field("count", count)
            json.endObject()
        }
        json.endArray()
    }

    private func writeResets(to json: inout JSONWriter) {
        json.name("resets")
        json.beginArray()
        for (code, count) in resets.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            json.beginObject()
            json.name("code")
            code.write(to: &json)
            json.field("count", count)
            json.endObject()
        }
        json.endArray()
    }

    private func writeDuplicates(to json: inout JSONWriter) {
        json.field("ids", duplicateIDs)
        json.field("pushes", duplicatePushes)
        json.field("isExact", idsNotTracked == 0)
        json.field("idsNotFollowed", idsNotTracked)
        json.name("first")
        json.beginArray()
        for duplicate in duplicatesListed {
            json.beginObject()
            json.field("id", duplicate.id.description)
            json.field("times", duplicate.times)
            json.endObject()
        }
        json.endArray()
    }

    private func writeTargets(to json: inout JSONWriter) {
        json.field("seen", targetsSeen)
        json.field("pushesMax", pushesPerTargetMax)
        json.field("isExact", targetsNotTracked == 0)
        json.field("notFollowed", targetsNotTracked)
        switch busiestTarget {
        case nil: break
        case .token(let token): json.field("busiestToken", token.description)
        case .channel(let channel): json.field("busiestChannel", channel)
        }
    }
}

extension JournalSummary.AnswerKind {
    /// The text by which the kinds are sorted.
    fileprivate var order: String { "\(status) \(reason ?? "")" }
}
