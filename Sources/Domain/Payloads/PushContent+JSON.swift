internal import Identifiers
package import JSON

// The JSON of a push's content, as members of a record such as `Send`. Its names are not those of APNs.

extension JSONWriter {
    /// Writes the content as members of the object that is open.
    package mutating func content(_ content: PushContent) {
        field("event", content.event.rawValue)
        field("contentState", content.contentState)
        field("attributesType", content.attributesType)
        field("attributes", content.attributes)
        if let alert = content.alert { field("alert", alert) }
        field("staleDate", content.staleDate)
        field("dismissalDate", content.dismissalDate)
        field("relevanceScore", content.relevanceScore)
        field("inputPushToken", content.asksForToken ? true : nil)
        field("inputPushChannel", content.channel)
    }

    private mutating func field(_ name: StaticString, _ alert: Alert) {
        self.name(name)
        beginObject()
        field("title", alert.title)
        field("body", alert.body)
        field("sound", alert.sound)
        endObject()
    }

    private mutating func field(_ name: StaticString, _ text: Alert.Text?) {
        switch text {
        case nil: break
        case .plain(let text): field(name, text)
        case .localized(let key, let arguments):
            self.name(name)
            beginObject()
            field("locKey", key)
            field("locArgs", arguments.isEmpty ? nil : arguments)
            endObject()
        }
    }
}

extension JSONObject {
    /// Reads the content without checks. `PayloadRules` decides whether it may be sent.
    package func content() -> PushContent {
        // `choice` reports an unknown event, so the record is rejected and `update` is not used.
        var content = PushContent(self["event"].choice(of: PushEvent.self) ?? .update)
        content.contentState = self["contentState"].optional?.rawJSON()
        content.attributesType = self["attributesType"].optional?.name()
        content.attributes = self["attributes"].optional?.rawJSON()
        content.alert = self["alert"].optional?.alert()
        content.staleDate = self["staleDate"].optional?.seconds()
        content.dismissalDate = self["dismissalDate"].optional?.seconds()
        content.relevanceScore = self["relevanceScore"].optional?.double()
        content.asksForToken = self["inputPushToken"].optional?.bool() ?? false
        content.channel = self["inputPushChannel"].optional?.string()
        return content
    }
}

extension JSONValue {
    /// Reads an alert: an object with a title, a body and a sound, each optional.
    package func alert() -> Alert {
        let object = object()
        return Alert(
            title: object["title"].optional?.alertText(), body: object["body"].optional?.alertText(),
            sound: object["sound"].optional?.string())
    }

    /// Reads a string, or an object such as `{"locKey": "GOAL", "locArgs": ["2:1"]}`.
    private func alertText() -> Alert.Text {
        if kind == .string { return .plain(string()) }
        let object = object()
        return .localized(
            key: object["locKey"].string(),
            arguments: object["locArgs"].optional?.strings(countMax: Alert.argumentsMax) ?? [])
    }
}
