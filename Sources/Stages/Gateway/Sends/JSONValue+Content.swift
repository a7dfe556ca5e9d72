internal import Identifiers
internal import JSON
internal import Payloads

// The readers of an app's content, which the bodies of several calls share. After a problem they return a placeholder.

extension JSONValue {
    /// The deepest nesting of arrays and objects in the app's own content. The limit leaves levels for each
    /// record that encloses the content.
    static let contentDepthMax = 16
    /// APNs's limit for `apns-collapse-id`.
    private static let collapseIDBytesMax = 64

    /// Returns the content of the app, unchanged.
    func contentObject() -> RawJSON {
        let content = rawJSON()
        if content.depth > Self.contentDepthMax {
            report("must be nested at most \(Self.contentDepthMax) levels deep", as: .outOfRange)
        }
        return content
    }

    /// Returns the name by which APNs replaces an earlier push that waits.
    func collapseID() -> String {
        let id = name()
        if id.utf8.count > Self.collapseIDBytesMax {
            report("must have at most \(Self.collapseIDBytesMax) bytes", as: .outOfRange)
        }
        return id
    }

    /// Returns the alert, and reports its unknown fields. A localized text has one of three spellings: an object with
    /// `locKey` and `locArgs`; an object with Apple's `loc-key` and `loc-args`; or Apple's members of the alert itself,
    /// which are `title-loc-key` and `title-loc-args` for the title, `loc-key` and `loc-args` for the body.
    func strictAlert() -> Alert {
        let object = object()
        let alert = Alert(
            title: object.alertText(named: "title", key: "title-loc-key", arguments: "title-loc-args"),
            body: object.alertText(named: "body", key: "loc-key", arguments: "loc-args"),
            sound: object["sound"].optional?.string())
        object.reportUnknownFields()
        return alert
    }
}

extension JSONObject {
    /// Returns a text of an alert: the member of this name, or the members with its key and its arguments.
    fileprivate func alertText(
        named name: StaticString, key keyName: StaticString, arguments argumentsName: StaticString
    ) -> Alert.Text? {
        let (text, key, arguments) = (self[name], self[keyName], self[argumentsName])
        guard key.optional != nil || arguments.optional != nil else { return text.optional?.alertText() }
        if text.optional != nil { text.report("must be omitted when \(keyName) is given") }
        return .localized(key: key.string(), arguments: arguments.localizationArguments())
    }
}

extension JSONValue {
    /// Returns a plain text, or a key of the app's string catalog with arguments.
    fileprivate func alertText() -> Alert.Text {
        if kind == .string { return .plain(string()) }
        let object = object()
        let (key, arguments) = (object["locKey"], object["locArgs"])
        let (appleKey, appleArguments) = (object["loc-key"], object["loc-args"])
        if key.optional != nil, appleKey.optional != nil {
            appleKey.report("must be omitted when locKey is given")
        }
        if arguments.optional != nil, appleArguments.optional != nil {
            appleArguments.report("must be omitted when locArgs is given")
        }
        object.reportUnknownFields()
        return .localized(
            key: (appleKey.optional ?? key).string(),
            arguments: (appleArguments.optional ?? arguments).localizationArguments())
    }

    fileprivate func localizationArguments() -> [String] {
        optional?.strings(countMax: Alert.argumentsMax) ?? []
    }
}
