internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends
internal import Telemetry

/// `POST /rest/3.0/createNotificationDefinition`: stores the content of a start for one user under a number.
/// `NetmeraTransactional` sends it by that number.
enum NetmeraDefinition {
    static let fields = NetmeraFields.fields(prefix: "", audience: "target")
    /// Stands for the user during the check of a definition, which has no recipient.
    private static let placeholderUser = "somebody"
    /// Stands for the group during the check of a definition without a group. It is longer than most group
    /// names, so that the payload's size is not underestimated.
    private static let placeholderGroup = String(repeating: "g", count: 64)

    /// Reads the body into the draft of a start, so that the checks of a send find the problems of the content. Also
    /// returns the definition's group, which is optional.
    static func draft(from root: JSONValue) -> (draft: SendDraft, group: String?) {
        let object = root.object()
        var draft = SendDraft(event: .start, audience: .users([placeholderUser]))
        draft.content.alert = NetmeraFields.alert(title: object["title"], body: object["message"])
        NetmeraFields.checkPlatforms(object["platforms"])
        NetmeraFields.checkOptionalType(object["type"])
        draft.content.contentState = object["contentState"].optional?.contentObject()
        draft.content.attributes = object["liveActAttr"].optional?.contentObject()
        draft.attributesType = object["liveActAttrType"].optional?.name()
        let group = object["groupId"].optional?.name()
        draft.group = group ?? placeholderGroup
        NetmeraFields.refuseDates(in: object)
        object.reportUnknownFields()
        return (draft, group)
    }

    /// Returns the record of the catalog. Its content lacks the group attribute, which is added when the
    /// definition is sent.
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
