import Foundation
import JSON
import Payloads
import RecordTesting
import Testing

// The bodies of pushes, built from their content.

/// Whether bytes and a text are equal as JSON values. Order and spacing do not count.
func isSameJSON(_ bytes: [UInt8], as text: String) throws -> Bool {
    let built = try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary
    let expected = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
    return built != nil && built == expected
}

@Test func `the content-state is passed on byte for byte`() {
    let state = #"{ "a" : 1.0, "b":1e3,"c":"\u00e4\/", "n":null , "big":12345678901234567890 }"#
    var content = PushContent(.update)
    content.contentState = raw(state)
    let body = String(decoding: PayloadBuilder.body(for: content, timestamp: 1_700_000_000), as: UTF8.self)
    #expect(body.contains(state))
}

@Test func `a start carries its group in the attribute that the activity type names`() throws {
    var content = PushContent(.start)
    content.contentState = raw("{}")
    content.attributesType = "Match"
    content.attributes = raw(#"{ "home":"A" }"#)
    content.alert = Alert(title: .plain("t"))
    let group = GroupAttribute(group: "ars-\"liv\"-2025")
    let body = PayloadBuilder.body(for: content, timestamp: 1_700_000_000, group: group)
    #expect(
        try isSameJSON(
            body,
            as: #"""
                {"aps":{"timestamp":1700000000,"event":"start","content-state":{},"attributes-type":"Match",
                  "attributes":{"netmeraGroupId":"ars-\"liv\"-2025","home":"A"},"alert":{"title":"t"}}}
                """#))
    content.attributes = raw("{ }")
    let empty = PayloadBuilder.attributes(of: content, group: GroupAttribute(name: "g", group: "x"))
    #expect(empty.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"g":"x" }"#)
}

@Test func `attributes that already name the group stay unchanged, and another group is a conflict`() {
    var content = PushContent(.start)
    content.attributes = raw(#"{"netmeraGroupId":"m1"}"#)
    #expect(PayloadBuilder.attributes(of: content, group: GroupAttribute(group: "m1")) == content.attributes)
    #expect(PayloadBuilder.attributes(of: content, group: GroupAttribute(group: "m2")) == nil)
    content.attributes = raw(#"{"netmeraGroupId":null}"#)
    #expect(PayloadBuilder.attributes(of: content, group: GroupAttribute(group: "m1")) == nil)
}

@Test func `an alert can use the localized strings of the app's own catalog`() throws {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    content.alert = Alert(
        title: .localized(key: "GOAL", arguments: ["1", "0"]), body: .localized(key: "LATE", arguments: []))
    content.relevanceScore = 100
    #expect(
        try isSameJSON(
            PayloadBuilder.body(for: content, timestamp: 1_700_000_000),
            as: #"""
                {"aps":{"timestamp":1700000000,"event":"update","content-state":{},"relevance-score":100,
                  "alert":{"title":{"loc-key":"GOAL","loc-args":["1","0"]},"body":{"loc-key":"LATE"}}}}
                """#))
}

@Test func `a start for iOS 18 asks for a token or names a channel`() throws {
    var content = PushContent(.start)
    content.asksForToken = true
    #expect(
        try isSameJSON(
            PayloadBuilder.body(for: content, timestamp: 1),
            as: #"{"aps":{"timestamp":1,"event":"start","input-push-token":1}}"#))
    content.asksForToken = false
    content.channel = "dHN0LXNyY2gtY2hubA=="
    #expect(
        try isSameJSON(
            PayloadBuilder.body(for: content, timestamp: 1),
            as: #"{"aps":{"timestamp":1,"event":"start","input-push-channel":"dHN0LXNyY2gtY2hubA=="}}"#))
}
