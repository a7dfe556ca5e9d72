internal import Catalog
internal import JSON
internal import LiveActivity
internal import Synchronization
internal import Telemetry

/// `POST /rest/3.0/createNotificationDefinition`: what a start for one user says, to be sent by its number.
enum NetmeraDefinition {
    static let fields = NetmeraFields.message("", audience: "target")
    /// Stands in for the group while a definition without one is judged: longer than most.
    private static let anyGroup = String(repeating: "g", count: 64)

    /// A start as it will be sent, so that what is wrong with it is told now.
    static func draft(_ root: JSONValue) -> (draft: SendDraft, group: String?) {
        let object = root.object()
        var draft = SendDraft(.start, audience: .users(["somebody"]))
        draft.content.alert = NetmeraFields.alert(title: object["title"], body: object["message"])
        NetmeraFields.checkPlatforms(object["platforms"])
        if let type = object["type"].optional, type.string() != "LIVE_ACTIVITY" {
            type.report("must be \"LIVE_ACTIVITY\", or be left out")
        }
        draft.content.contentState = object["contentState"].optional?.state()
        draft.content.attributes = object["liveActAttr"].optional?.state()
        draft.attributesType = object["liveActAttrType"].optional?.name()
        let group = object["groupId"].optional?.name()
        draft.group = group ?? anyGroup
        NetmeraFields.refuseDates(object)
        object.refuseUnknownFields()
        return (draft, group)
    }

    /// The record, with the content as it was given: the group comes in when it is sent.
    static func definition(
        _ draft: SendDraft, group: String?, number: Int64, app: App, now: WallTime
    ) -> NotificationDefinition {
        var content = draft.content
        content.attributesType = draft.attributesType
        var definition = NotificationDefinition(
            app: app.id, number: number, createdAt: max(0, now.milliseconds), content: content)
        definition.group = group
        return definition
    }
}

/// Numbers that grow with time and never come twice: milliseconds, and 20 random bits behind them, which tell
/// apart what several gateways make at one moment.
final class DefinitionNumbers: Sendable {
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
