internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends
internal import Telemetry

/// The reader of a `POST /v1/sends` body. A problem with a field goes to the JSON reader, so that all are
/// reported together.
enum SendBody {
    /// Reads the body into a draft. A field with a problem has a placeholder in the draft.
    static func draft(from root: JSONValue, now: WallTime) -> SendDraft {
        let object = root.object()
        let event = object["event"].choice(of: PushEvent.self) ?? .update
        var draft = SendDraft(event: event, audience: audience(in: object, event: event))
        draft.group = object["groupId"].optional?.name()
        draft.attributesType = object["attributesType"].optional?.name()
        draft.isPrivate = object["private"].optional?.bool()
        readContent(of: object, into: &draft, now: now)
        draft.priority = object["priority"].optional?.pushPriority() ?? .standard
        draft.collapseID = object["collapseId"].optional?.collapseID()
        draft.endDate = object["endDate"].optional?.date(now: now)
        draft.deadline = object["deadline"].optional?.date(now: now)
        draft.expiration = object["expiration"].optional?.date(now: now)
        draft.isConflatable = object["conflate"].optional?.bool() ?? true
        draft.unknownStartPolicy =
            object["onUnknownStart"].optional?.choice(of: Send.UnknownStartPolicy.self) ?? .skip
        draft.forcesRestart = object["restart"].optional?.bool() ?? false
        draft.isDryRun = object["dryRun"].optional?.bool() ?? false
        draft.ifVersion = object["ifVersion"].optional?.version()
        readTime(of: object, into: &draft, now: now)
        refuseUnavailableDelivery(in: object, draft: &draft)
        object.reportUnknownFields()
        return draft
    }

    /// Reads the audience. The group is the default of updates and ends, because the start has chosen its recipients.
    private static func audience(in object: JSONObject, event: PushEvent) -> Audience {
        guard let value = object["audience"].optional else {
            // Reports that a start needs an audience.
            if event == .start { _ = object["audience"].audience() }
            return .group
        }
        let audience = value.audience()
        if value.kind == .object { value.object().reportUnknownFields() }
        return audience
    }

    private static func readContent(of object: JSONObject, into draft: inout SendDraft, now: WallTime) {
        draft.content.contentState = object["contentState"].optional?.contentObject()
        draft.content.attributes = object["attributes"].optional?.contentObject()
        if let alert = object["alert"].optional { draft.content.alert = alert.strictAlert() }
        draft.content.staleDate = object["staleDate"].optional?.date(now: now)
        draft.content.dismissalDate = object["dismissalDate"].optional?.date(now: now)
        draft.content.relevanceScore = object["relevanceScore"].optional?.double()
        draft.content.asksForToken = object["inputPushToken"].optional?.bool() ?? false
    }

    /// Reads `when` and `latenessMax`.
    private static func readTime(of object: JSONObject, into draft: inout SendDraft, now: WallTime) {
        draft.time = object["when"].optional?.sendTime(now: now)
        guard let latenessMax = object["latenessMax"].optional else { return }
        let milliseconds = latenessMax.latenessMilliseconds()
        guard draft.time != nil else {
            return latenessMax.report("is allowed only for a send for later; omit it, or set when")
        }
        draft.time?.latenessMillisecondsMax = milliseconds
    }

    /// Refuses values of the interface that are not implemented yet.
    private static func refuseUnavailableDelivery(in object: JSONObject, draft: inout SendDraft) {
        let delivery = object["delivery"]
        if let delivery = delivery.optional, !delivery.isText("tokens") {
            draft.problems.append(
                RequestProblem(
                    code: "not_available", at: "delivery",
                    message: "must be \"tokens\": broadcast channels are not available in this version"))
        }
    }
}
