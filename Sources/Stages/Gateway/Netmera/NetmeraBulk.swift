internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends

/// `POST /rest/3.0/sendBulkNotification`: a start for many recipients.
enum NetmeraBulk {
    static let fields = NetmeraFields.fields(prefix: "message.", audience: "target")

    static func draft(from root: JSONValue) -> SendDraft {
        let object = root.object()
        var draft = SendDraft(event: .start, audience: audience(in: object["target"]))
        let message = object["message"].object()
        draft.content.alert = NetmeraFields.alert(title: message["title"], body: message["body"])
        NetmeraFields.checkPlatforms(message["platforms"])
        let type = message["type"]
        if type.string() != "LIVE_ACTIVITY", type.kind == .string { type.report("must be \"LIVE_ACTIVITY\"") }
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

    private static func audience(in target: JSONValue) -> Audience {
        let object = target.object()
        let isForAll = object["sendToAll"].optional?.bool() ?? false
        let lists: [(value: JSONValue, makeAudience: ([String]) -> Audience)] = [
            (object["segments"], Audience.segments), (object["tags"], Audience.tags),
            (object["extIds"], Audience.users),
        ]
        object.reportUnknownFields()
        let presentLists = lists.filter { $0.value.optional != nil }
        guard presentLists.count + (isForAll ? 1 : 0) == 1 else {
            if target.kind == .object {
                target.report("must have exactly one of sendToAll: true, segments, tags, extIds")
            }
            return .everyone
        }
        if isForAll { return .everyone }
        let list = presentLists[0]
        return list.makeAudience(list.value.names(countMax: Audience.namesMax))
    }
}
