internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends

/// `POST /rest/3.0/sendBulkNotification`: a start for many recipients.
enum NetmeraBulk {
    static let fields = NetmeraFields.fields(prefix: "message.", audience: "target")

    /// Reads the body into a draft.
    static func draft(from root: JSONValue) -> SendDraft {
        let object = root.object()
        var draft = SendDraft(event: .start, audience: audience(in: object["target"]))
        let message = object["message"].object()
        draft.content.alert = NetmeraFields.alert(title: message["title"], body: message["body"])
        NetmeraFields.checkPlatforms(message["platforms"])
        NetmeraFields.checkRequiredType(message["type"])
        draft.content.contentState = message["contentState"].optional?.contentObject()
        draft.content.attributes = message["liveActAttr"].optional?.contentObject()
        draft.attributesType = message["liveActAttrType"].optional?.name()
        draft.group = message["groupId"].optional?.name()
        draft.endDate = message["liveActEndDate"].optional?.isoDate()
        NetmeraFields.refuseDates(in: message)
        message.reportUnknownFields()
        object.reportUnknownFields()
        return draft
    }

    /// Reads the audience: everyone, or one list of names.
    private static func audience(in target: JSONValue) -> Audience {
        let object = target.object()
        let isForEveryone = object["sendToAll"].optional?.bool() ?? false
        let lists: [(value: JSONValue, makeAudience: ([String]) -> Audience)] = [
            (object["segments"], Audience.segments), (object["tags"], Audience.tags),
            (object["extIds"], Audience.users),
        ]
        object.reportUnknownFields()
        let presentLists = lists.filter { $0.value.optional != nil }
        let audienceCount = presentLists.count + (isForEveryone ? 1 : 0)
        guard audienceCount == 1 else {
            // `object` has already reported a target that is no object.
            if target.kind == .object {
                target.report("must have exactly one of sendToAll: true, segments, tags, extIds")
            }
            return .everyone
        }
        if isForEveryone { return .everyone }
        let list = presentLists[0]
        return list.makeAudience(list.value.names(countMax: Audience.namesMax))
    }
}
