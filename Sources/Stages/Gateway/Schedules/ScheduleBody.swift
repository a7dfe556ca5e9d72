internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends
internal import Telemetry

/// The body of `POST /v1/schedules`, in the format of Teak, another service for Live Activities: the future content
/// of a user's activity and its time. For example:
/// `{"user":"jane","activity":"chest_timer","offset":60,"customData":{"status":"ready"}}`.
struct ScheduleBody {
    /// Teak's names of the fields of a send, for error messages.
    static let fields: SendFields = {
        var fields = SendFields()
        fields.group = "activity"
        fields.audience = "user"
        fields.contentState = "customData"
        fields.staleDate = "systemData.stale-date"
        fields.dismissalDate = "systemData.dismissal-date"
        fields.isPrivate = nil
        return fields
    }()

    let draft: SendDraft
    let user: String
    let userProof: String?
    /// The id of the schedule. Nil uses the id of its send.
    let id: String?
    let name: String?

    init(from root: JSONValue, now: WallTime) {
        let object = root.object()
        user = object["user"].name()
        userProof = object["userProof"].optional?.string()
        let systemData = object["systemData"].optional?.object()
        let event = systemData.flatMap { $0["event"].optional }?.scheduledEvent() ?? .update
        var draft = SendDraft(event: event, audience: .users([user]))
        draft.group = object["activity"].name()
        // In Teak's format an activity always belongs to one user.
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
        draft.time = Self.time(in: object, now: now)
        id = object["id"].optional?.name()
        name = object["name"].optional?.name()
        object.reportUnknownFields()
        self.draft = draft
    }

    /// Reads `offset` or `at`, and `latenessMax`. Without `at`, `offset` is required.
    private static func time(in object: JSONObject, now: WallTime) -> SendTime {
        let (offset, at) = (object["offset"], object["at"])
        if offset.optional != nil, at.optional != nil { at.report("must be omitted when offset is given") }
        var time = SendTime(dueTime: at.optional.map { $0.futureDate(now: now) } ?? offset.dueOffset())
        if let latenessMax = object["latenessMax"].optional {
            time.latenessMillisecondsMax = latenessMax.latenessMilliseconds()
        }
        return time
    }
}

extension JSONValue {
    /// Reads the event. A start is refused, because it needs a send: it also reaches phones that do not show
    /// the activity yet.
    fileprivate func scheduledEvent() -> PushEvent {
        if isText("start") {
            report("must be \"update\" or \"end\"; to start later use POST /v1/sends with when")
            return .update
        }
        return choice(of: PushEvent.self) ?? .update
    }
}
