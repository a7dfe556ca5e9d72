internal import JSON
internal import LiveActivity
internal import Telemetry

/// Reads the body of `POST /v1/schedules`, Teak's way: what a user's activity is to show, and when.
struct ScheduleBody {
    static let fields: SendFields = {
        var fields = SendFields()
        (fields.group, fields.audience, fields.contentState) = ("activity", "user", "customData")
        (fields.staleDate, fields.dismissalDate) = ("systemData.stale-date", "systemData.dismissal-date")
        fields.isPrivate = nil
        return fields
    }()

    let draft: SendDraft
    let user: String
    let userProof: String?
    /// The schedule's own; nil: its send's.
    let id: String?
    let name: String?

    init(_ root: JSONValue, now: WallTime) {
        let object = root.object()
        user = object["user"].name()
        userProof = object["userProof"].optional?.string()
        let system = object["systemData"].optional?.object()
        let event = system.flatMap { $0["event"].optional }?.scheduledEvent() ?? .update
        var draft = SendDraft(event, audience: .users([user]))
        draft.group = object["activity"].name()
        // Teak's activities are always one user's.
        draft.isPrivate = true
        draft.attributesType = object["attributesType"].optional?.name()
        draft.content.contentState = object["customData"].optional?.state()
        if let alert = object["alert"].optional { draft.content.alert = alert.wholeAlert() }
        draft.priority = object["priority"].optional?.priority() ?? 10
        if let system {
            draft.content.staleDate = system["stale-date"].optional?.date(now: now)
            draft.content.dismissalDate = system["dismissal-date"].optional?.date(now: now)
            system.refuseUnknownFields()
        }
        draft.time = Self.time(object, now: now)
        (id, name) = (object["id"].optional?.name(), object["name"].optional?.name())
        object.refuseUnknownFields()
        self.draft = draft
    }

    private static func time(_ object: JSONObject, now: WallTime) -> SendTime {
        let (offset, at) = (object["offset"], object["at"])
        if offset.optional != nil, at.optional != nil { at.report("must be left out beside offset") }
        var time = SendTime(when: at.optional.map { $0.time(now: now) } ?? offset.offset())
        if let latenessMax = object["latenessMax"].optional { time.latenessMax = latenessMax.latenessMax() }
        return time
    }
}

extension JSONValue {
    /// Whoever starts an activity asks for more than an owner's own phones.
    fileprivate func scheduledEvent() -> PushEvent {
        if isText("start") {
            report("must be \"update\" or \"end\"; start later with POST /v1/sends and when")
            return .update
        }
        return choice(of: PushEvent.self) ?? .update
    }
}
