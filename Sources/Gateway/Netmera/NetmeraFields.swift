internal import JSON
internal import LiveActivity

/// What Netmera's calls name the parts of a send, and how they read what several of them have.
enum NetmeraFields {
    static func message(_ prefix: String, audience: String) -> SendFields {
        var fields = SendFields()
        fields.group = prefix + "groupId"
        fields.audience = audience
        fields.segments = audience + ".segments"
        fields.attributesType = prefix + "liveActAttrType"
        fields.attributes = prefix + "liveActAttr"
        fields.alert = prefix + "title"
        fields.contentState = prefix + "contentState"
        fields.endDate = prefix + "liveActEndDate"
        fields.isPrivate = nil
        return fields
    }

    /// Only iOS has Live Activities.
    static func checkPlatforms(_ value: JSONValue) {
        let platforms = value.strings(countMax: 10)
        if value.kind == .array, platforms != ["IOS"] { value.report("must be [\"IOS\"]") }
    }

    /// A title and a text become the alert that lights the screen.
    static func alert(title: JSONValue, body: JSONValue) -> Alert? {
        let alert = Alert(
            title: title.optional.map { .plain($0.string()) }, body: body.optional.map { .plain($0.string()) }
        )
        return alert.title == nil && alert.body == nil ? nil : alert
    }

    /// What Netmera says of both: they belong to `update-live-activity`.
    static func refuseDates(_ object: JSONObject) {
        for value in [object["staleDate"], object["dismissalDate"]] where !value.isMissing {
            value.report("does not belong to a start; give it to update-live-activity")
        }
    }
}
