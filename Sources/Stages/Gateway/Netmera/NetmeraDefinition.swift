internal import Catalog
internal import JSON
internal import LiveActivity
internal import Synchronization
internal import Telemetry

/// `POST /rest/3.0/createNotificationDefinition`: the content of a start for one user, to be sent by its
/// number.
enum NetmeraDefinition {
    static let fields = NetmeraFields.fields(prefix: "", audience: "target")
    /// The group of a definition without one during the check. It is longer than most group names.
    private static let placeholderGroup = String(repeating: "g", count: 64)

    /// Returns the start as it will be sent, so that its problems show when the definition is made.
    static func draft(from root: JSONValue) -> (draft: SendDraft, group: String?) {
        let object = root.object()
        var draft = SendDraft(event: .start, audience: .users(["somebody"]))
        draft.content.alert = NetmeraFields.alert(title: object["title"], body: object["message"])
        NetmeraFields.checkPlatforms(object["platforms"])
        if let type = object["type"].optional, type.string() != "LIVE_ACTIVITY" {
            type.report("must be \"LIVE_ACTIVITY\", or be omitted")
        }
        draft.content.contentState = object["contentState"].optional?.contentObject()
        draft.content.attributes = object["liveActAttr"].optional?.contentObject()
        draft.attributesType = object["liveActAttrType"].optional?.name()
        let group = object["groupId"].optional?.name()
        draft.group = group ?? placeholderGroup
        NetmeraFields.refuseDates(in: object)
        object.reportUnknownFields()
        return (draft, group)
    }

    /// Returns the record with the content as given. The group attribute is added when the definition is
    /// sent.
    static func definition(
        from draft: SendDraft, group: String?, number: Int64, app: App, now: WallTime
    ) -> NotificationDefinition {
        var content = draft.content
        content.attributesType = draft.attributesType
        var definition = NotificationDefinition(
            app: app.id, number: number, createdAt: max(0, now.milliseconds), content: content)
        definition.group = group
        return definition
    }
}

/// A generator of unique, increasing numbers: milliseconds followed by 20 random bits. The random bits
/// separate numbers that several gateways make in the same millisecond.
final class DefinitionNumberGenerator: Sendable {
    private static let randomBits: Int64 = 20
    private let last = Mutex(Int64(0))

    func next(now: WallTime) -> Int64 {
        let time = max(0, min(now.milliseconds, Int64.max >> Self.randomBits))
        let made = time << Self.randomBits | Int64.random(in: 0..<(1 << Self.randomBits))
        return last.withLock { last in
            last = max(last + 1, made)
            return last
        }
    }
}
