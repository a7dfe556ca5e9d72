internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import Payloads
internal import Sends
internal import Telemetry

/// `POST /rest/3.0/sendNotification`: a start for one user. The content comes from a definition
/// (`NetmeraDefinition`), and the body can override parts of it.
enum NetmeraTransactional {
    static let fields = NetmeraFields.fields(prefix: "message.", audience: "target.extId")

    /// Reads the body into a draft, with the content of the app's definition.
    static func draft(from root: JSONValue, of app: App, in catalog: CatalogSnapshot) -> SendDraft {
        let object = root.object()
        let number = definitionNumber(in: object["notificationKey"])
        let definition = number.flatMap { catalog.definition(number: $0, of: app.id) }
        let target = object["target"].object()
        var draft = SendDraft(event: .start, audience: .users([target["extId"].name()]))
        target.reportUnknownFields()
        if number != nil, definition == nil {
            draft.problems.append(
                RequestProblem(
                    code: "definition_unknown", at: "notificationKey",
                    message: "is not a definition of the app; create one with createNotificationDefinition",
                    isUnknown: true))
        }
        if let definition { draft.content = definition.content }
        draft.attributesType = definition?.content.attributesType
        draft.group = definition?.group
        if let message = object["message"].optional { override(&draft, with: message.object()) }
        object.reportUnknownFields()
        return draft
    }

    /// Replaces the parts of the definition that the body has.
    private static func override(_ draft: inout SendDraft, with message: JSONObject) {
        if let group = message["groupId"].optional { draft.group = group.name() }
        let alert = NetmeraFields.alert(title: message["title"], body: message["body"])
        if let alert {
            draft.content.alert = Alert(
                title: alert.title ?? draft.content.alert?.title,
                body: alert.body ?? draft.content.alert?.body)
        }
        if let state = message["contentState"].optional { draft.content.contentState = state.contentObject() }
        if let attributes = message["liveActAttr"].optional {
            draft.content.attributes = attributes.contentObject()
        }
        if let type = message["liveActAttrType"].optional { draft.attributesType = type.name() }
        draft.endDate = message["liveActEndDate"].optional?.isoDate()
        if let platforms = message["platforms"].optional { NetmeraFields.checkPlatforms(platforms) }
        NetmeraFields.checkOptionalType(message["type"])
        NetmeraFields.refuseDates(in: message)
        message.reportUnknownFields()
    }

    /// Reads the number of a definition. Netmera's examples write it as a string.
    private static func definitionNumber(in key: JSONValue) -> Int64? {
        if key.kind == .integer { return Int64(key.int(in: 0...Int.max)) }
        let text = key.string()
        // Other spellings of the number, such as `09401`, are refused.
        if let number = Int64(text), number >= 0, "\(number)" == text { return number }
        // `string` has already reported a missing value, or a value of another kind.
        if key.kind == .string { key.report("must be the number that createNotificationDefinition answered") }
        return nil
    }
}
