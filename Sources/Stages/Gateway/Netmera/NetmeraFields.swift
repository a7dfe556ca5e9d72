internal import JSON
internal import Payloads

/// The fields that several of Netmera's calls share: their names, for error messages, and their readers.
enum NetmeraFields {
    /// The only type of notification that Flotilla sends.
    private static let liveActivityType = "LIVE_ACTIVITY"
    private static let platformsMax = 10

    /// Returns the names of the fields in a call's body.
    ///
    /// - Parameters:
    ///   - prefix: The path of the object that has the content, such as `message.`, or empty for the body itself.
    ///   - audience: The path of the audience, such as `target`.
    static func fields(prefix: String, audience: String) -> SendFields {
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

    /// Checks that the platforms are `["IOS"]`, because only iOS has Live Activities.
    static func checkPlatforms(_ value: JSONValue) {
        let platforms = value.strings(countMax: platformsMax)
        // `strings` has already reported a value that is no array.
        if value.kind == .array, platforms != ["IOS"] { value.report("must be [\"IOS\"]") }
    }

    /// Checks the type of a call that requires it.
    static func checkRequiredType(_ type: JSONValue) {
        check(type, problem: "must be \"LIVE_ACTIVITY\"")
    }

    /// Checks the type of a call that may omit it.
    static func checkOptionalType(_ type: JSONValue) {
        if let type = type.optional { check(type, problem: "must be \"LIVE_ACTIVITY\", or be omitted") }
    }

    private static func check(_ type: JSONValue, problem: String) {
        let text = type.string()
        // `string` has already reported a missing value, or a value of another kind.
        if type.kind == .string, text != liveActivityType { type.report(problem) }
    }

    /// Returns the alert, or nil without title and body.
    static func alert(title: JSONValue, body: JSONValue) -> Alert? {
        let alert = Alert(
            title: title.optional.map { .plain($0.string()) }, body: body.optional.map { .plain($0.string()) }
        )
        return alert.title == nil && alert.body == nil ? nil : alert
    }

    /// Refuses the dates that Netmera's documentation allows only in `update-live-activity`.
    static func refuseDates(in object: JSONObject) {
        for value in [object["staleDate"], object["dismissalDate"]] where !value.isMissing {
            value.report("is not allowed on a start; use it in update-live-activity")
        }
    }
}
