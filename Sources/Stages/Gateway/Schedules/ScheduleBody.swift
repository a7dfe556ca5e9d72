internal import Identifiers
internal import JSON
internal import Payloads
internal import Schedules
internal import Sends
internal import Telemetry

/// The body of `POST /v1/schedules`, in the format of Teak, another service for Live Activities: the future content
/// of a user's activity and its time. For example:
///
///     {"user": "jane", "activity": "chest_timer", "customData": {"status": "ready"},
///      "alert": {"title": "Ready"}, "priority": 10,
///      "systemData": {"event": "end", "stale-date": 1795212000, "dismissal-date": 1795215600},
///      "offset": 60, "latenessMax": 300, "id": "chest-1", "name": "chest"}
///
/// Only `user`, `activity` and a time are required: `offset`, or `at` with a date.
struct ScheduleBody {
    /// Teak's names of the fields of a send, for error messages.
    static let fields: SendFields = {
        var fields = SendFields()
        fields.group = "activity"
        fields.audience = "user"
        fields.contentState = "customData"
        fields.staleDate = "systemData.stale-date"
        fields.dismissalDate = "systemData.dismissal-date"
        // In Teak's format an activity always belongs to one user, so no field says it.
        fields.isPrivate = nil
        return fields
    }()

    let draft: SendDraft
    let user: String
    let userProof: String?
    /// The id of the schedule. Nil gives it the id of its send.
    let id: String?
    let name: String?

    init(from root: JSONValue, now: WallTime) {
        let object = root.object()
        user = object["user"].name()
        userProof = object["userProof"].optional?.string()
        draft = Self.draft(in: object, for: user, now: now)
        id = object["id"].optional?.name()
        name = object["name"].optional?.name()
        object.reportUnknownFields()
    }

    private static func draft(in object: JSONObject, for user: String, now: WallTime) -> SendDraft {
        let systemData = object["systemData"].optional?.object()
        let event = systemData.flatMap { $0["event"].optional }?.scheduledEvent() ?? .update
        var draft = SendDraft(event: event, audience: .users([user]))
        draft.group = object["activity"].name()
        draft.isPrivate = true
        draft.attributesType = object["attributesType"].optional?.name()
        draft.content.contentState = object["customData"].optional?.contentObject()
        if let alert = object["alert"].optional { draft.content.alert = alert.strictAlert() }
        draft.priority = object["priority"].optional?.pushPriority() ?? .standard
        if let systemData {
            draft.content.staleDate = systemData["stale-date"].optional?.date(now: now)
            draft.content.dismissalDate = systemData["dismissal-date"].optional?.date(now: now)
            systemData.reportUnknownFields()
        }
        draft.time = time(in: object, now: now)
        return draft
    }

    /// Reads the time of the send from `offset` or `at`, and `latenessMax`.
    private static func time(in object: JSONObject, now: WallTime) -> SendTime {
        let (offset, at) = (object["offset"], object["at"])
        var time: SendTime
        if let at = at.optional {
            if offset.optional != nil { at.report("must be omitted when offset is given") }
            time = SendTime(dueTime: .at(at.futureMilliseconds(now: now)))
        } else {
            // Without `offset` this reports that the time is missing.
            time = SendTime(dueTime: offset.dueOffset())
        }
        if let latenessMax = object["latenessMax"].optional {
            time.latenessMillisecondsMax = latenessMax.latenessMilliseconds()
        }
        return time
    }
}

extension JSONValue {
    /// The events that a schedule can have.
    private enum ScheduledEvent: String, CaseIterable {
        case update
        case end
    }

    /// Reads the event. A start is refused, because it needs a send: it also reaches phones that do not show
    /// the activity yet.
    fileprivate func scheduledEvent() -> PushEvent {
        if isText("start") {
            report("must be \"update\" or \"end\"; to start later use POST /v1/sends with when")
            return .update
        }
        switch choice(of: ScheduledEvent.self) {
        case .update, nil: return .update
        case .end: return .end
        }
    }
}
