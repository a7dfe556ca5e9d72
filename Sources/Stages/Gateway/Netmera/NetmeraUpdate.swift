internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends

/// `POST /rest/3.0/update-live-activity`: an update or an end of a whole group, of one user or of named activities.
enum NetmeraUpdate {
    static let fields = NetmeraFields.fields(prefix: "", audience: "target")

    /// Reads the body into a draft.
    static func draft(from root: JSONValue) -> SendDraft {
        let object = root.object()
        let event = event(in: object["action"])
        var draft = SendDraft(event: event, audience: audience(in: object["target"]))
        draft.group = object["groupId"].name()
        draft.content.contentState = object["contentState"].optional?.contentObject()
        draft.content.staleDate = object["staleDate"].optional?.isoDate()
        draft.content.dismissalDate = object["dismissalDate"].optional?.isoDate()
        draft.priority = object["priority"].optional?.pushPriority() ?? .standard
        draft.attributesType = object["liveActAttrType"].optional?.name()
        object.reportUnknownFields()
        return draft
    }

    private static func event(in action: JSONValue) -> PushEvent {
        switch action.string() {
        case "UPDATE": return .update
        case "END", "ENDED": return .end
        default:
            // `string` has already reported a missing value, or a value of another kind.
            if action.kind == .string { action.report("must be \"UPDATE\" or \"END\"") }
            return .update
        }
    }

    /// Reads the audience: one user, named activities, or without a target the whole group.
    private static func audience(in target: JSONValue) -> Audience {
        guard let target = target.optional else { return .group }
        let object = target.object()
        let (user, activities) = (object["extId"], object["activityIds"])
        for value in [object["tags"], object["segments"], object["sendToAll"]] where !value.isMissing {
            value.report("is allowed on a start only; omit target to reach the whole group")
        }
        object.reportUnknownFields()
        if user.optional != nil, activities.optional == nil { return .users([user.name()]) }
        if activities.optional != nil, user.optional == nil {
            return .activities(activities.names(countMax: Audience.namesMax))
        }
        // `object` has already reported a target that is no object.
        if target.kind == .object {
            target.report("must have exactly one of extId and activityIds, or be omitted")
        }
        return .group
    }
}
