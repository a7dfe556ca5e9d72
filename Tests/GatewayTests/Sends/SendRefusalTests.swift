import Identifiers
import JSON
import Payloads
import Sends
import Testing

@testable import Gateway

/// Every rule of a body, by the field and code that a client gets. A case is a valid body with one fault. The time of
/// the tests is `DeciderFixture.now`, 1795204800 in seconds.
struct SendRefusalTests {
    private let fixture = DeciderFixture()

    /// A body and the problems that it gets, each as `field code`. The body as a whole has no field.
    struct Case: CustomTestStringConvertible, Sendable {
        let body: String
        let problems: [String]
        init(_ body: String, _ problems: String...) { (self.body, self.problems) = (body, problems) }
        var testDescription: String { "\(problems): \(body.prefix(200))" }
    }

    static let parsing: [Case] = [
        Case("", " empty"),
        Case("7", " wrong_type"),
        Case("{", " malformed"),
        Case(#"{"event":"update","event":"end"}"#, "event duplicate_key"),
        Case(#"{"event":"update","\u0065vent":"end"}"#, #"["\\u0065vent"] duplicate_key"#),
        Case(String(repeating: "[", count: 100_000), String(repeating: "[0]", count: 32) + " too_deep"),
        Case(#"{"relevanceScore":1e400}"#, "relevanceScore number_out_of_range"),
        Case("{\"groupId\":\"\u{1}\"}", "groupId malformed"),
        Case(updateBody(["evnt": "1"]), "evnt unknown_field"),
        Case(updateBody(["contentstate": "{}"]), "contentstate unknown_field"),
        Case(updateBody(["event": #""begin""#]), "event invalid"),
        Case(updateBody(["event": nil]), "event missing"),
        Case(updateBody(["groupId": "7"]), "groupId wrong_type"),
        Case(updateBody(["groupId": #""""#]), "groupId invalid"),
        Case(updateBody(["groupId": "\"\(String(repeating: "g", count: 201))\""]), "groupId invalid"),
        Case(updateBody(["groupId": #""a\u0007b""#]), "groupId invalid"),
        Case(updateBody(["groupId": "\"\(String(repeating: "%", count: 200))\""]), "groupId invalid"),
        Case(updateBody(["priority": "7"]), "priority out_of_range"),
        Case(updateBody(["priority": #""10""#]), "priority wrong_type"),
        Case(
            updateBody(["collapseId": "\"\(String(repeating: "c", count: 65))\""]), "collapseId out_of_range"),
        Case(updateBody(["conflate": "0"]), "conflate wrong_type"),
        Case(updateBody(["relevanceScore": #""1""#]), "relevanceScore wrong_type"),
        Case(
            updateBody([
                "contentState": String(repeating: #"{"a":"#, count: 17) + "1"
                    + String(repeating: "}", count: 17)
            ]),
            "contentState out_of_range"),
        Case(startBody(["onUnknownStart": #""maybe""#]), "onUnknownStart invalid"),
    ]

    static let audiences: [Case] = [
        Case(startBody(["audience": nil]), "audience missing"),
        Case(startBody(["audience": #""all""#]), "audience invalid"),
        Case(startBody(["audience": "{}"]), "audience invalid"),
        Case(startBody(["audience": #"{"users":["a"],"tags":["b"]}"#]), "audience invalid"),
        Case(startBody(["audience": #"{"users":["a"],"all":true}"#]), "audience.all unknown_field"),
        Case(startBody(["audience": #"{"users":[]}"#]), "audience invalid"),
        Case(startBody(["audience": #"{"users":["a","a"]}"#]), "audience invalid"),
        Case(startBody(["audience": #"{"users":["a",""]}"#]), "audience.users[1] invalid"),
        Case(startBody(["audience": #""group""#]), "audience invalid"),
        Case(startBody(["audience": #"{"activities":["a"]}"#]), "audience invalid"),
        Case(
            startBody(["audience": #"{"segments":["vips","nobody"]}"#]),
            "audience.segments[1] segment_unknown"),
        Case(updateBody(["audience": #""everyone""#]), "audience invalid"),
        Case(updateBody(["audience": #"{"tags":["a"]}"#]), "audience invalid"),
        Case(endBody(["audience": #"{"segments":["vips"]}"#]), "audience invalid"),
        Case(updateBody(["groupId": nil]), "groupId missing"),
        Case(startBody(["groupId": nil]), "groupId missing"),
        Case(updateBody(["groupId": nil, "audience": #"{"activities":["a","b"]}"#]), "audience invalid"),
        Case(updateBody(["groupId": nil, "audience": #"{"users":["a"]}"#]), "audience invalid"),
        Case(updateBody(["private": "true"]), "audience not_one_user"),
        Case(
            updateBody(["private": "true", "audience": #"{"users":["a","b"]}"#]), "audience not_one_user"),
    ]

    static let payload: [Case] = [
        Case(startBody(["attributesType": #""Mtch""#]), "attributesType type_unknown"),
        Case(updateBody(["attributesType": #""Mtch""#]), "attributesType type_unknown"),
        Case(startBody(["attributesType": nil]), "attributesType required"),
        Case(startBody(["attributes": nil]), "attributes required"),
        Case(startBody(["attributes": "[]"]), "attributes not_an_object"),
        Case(startBody(["attributes": #"{"home":"A"}"#]), "attributes required"),
        Case(
            startBody(["attributes": #"{"home":"A","away":"B","netmeraGroupId":"other"}"#]),
            "attributes conflict"),
        Case(startBody(["alert": nil]), "alert required"),
        Case(startBody(["alert": "{}"]), "alert empty"),
        Case(startBody(["alert": #"{"titel":"x"}"#]), "alert.titel unknown_field"),
        Case(
            startBody(["alert": #"{"title":{"key":"x"}}"#]), "alert.title.locKey missing",
            "alert.title.key unknown_field"),
        Case(startBody(["contentState": nil]), "contentState required"),
        Case(updateBody(["contentState": nil]), "contentState required"),
        Case(updateBody(["contentState": "[1]"]), "contentState not_an_object"),
        Case(updateBody(["contentState": #"{"score":"1","status":"2nd"}"#]), "contentState does_not_decode"),
        Case(updateBody(["contentState": #"{"score":1}"#]), "contentState does_not_decode"),
        Case(updateBody(["attributes": #"{"home":"A"}"#]), "attributes not_allowed"),
        Case(updateBody(["inputPushToken": "true"]), "inputPushToken not_allowed"),
        Case(startBody(["dismissalDate": "1795208400"]), "dismissalDate not_allowed"),
        Case(updateBody(["dismissalDate": "1795208400"]), "dismissalDate not_allowed"),
        Case(endBody(["staleDate": "1795208400"]), "staleDate not_allowed"),
        Case(updateBody(["staleDate": "1795208400000"]), "staleDate not_seconds"),
        Case(updateBody(["staleDate": #""tomorrow""#]), "staleDate invalid"),
        Case(updateBody(["staleDate": #""2026-02-30T00:00:00Z""#]), "staleDate invalid"),
        Case(updateBody(["staleDate": #"{"offset":-1}"#]), "staleDate.offset out_of_range"),
        Case(updateBody(["staleDate": #"{"offset":1,"from":2}"#]), "staleDate.from unknown_field"),
        Case(updateBody(["staleDate": "true"]), "staleDate wrong_type"),
        Case(
            updateBody(["contentState": #"{"score":1,"status":"\#(String(repeating: "x", count: 4090))"}"#]),
            "contentState too_large", " too_large"),
        Case(
            startBody(["alert": #"{"body":"\#(String(repeating: "x", count: 4000))"}"#]), " too_large"),
    ]

    static let datesAndOptions: [Case] = [
        Case(startBody(["endDate": "1795204800"]), "endDate date_passed"),
        Case(startBody(["endDate": "0"]), "endDate date_passed"),
        Case(startBody(["endDate": "4291747200"]), "endDate out_of_range"),
        Case(startBody(["endDate": "1795208400000"]), "endDate not_seconds"),
        Case(updateBody(["endDate": "1795208400"]), "endDate not_allowed"),
        Case(updateBody(["deadline": "1795204700"]), "deadline date_passed"),
        Case(updateBody(["deadline": #"{"offset":72001}"#]), "deadline out_of_range"),
        Case(updateBody(["expiration": "1795204700"]), "expiration date_passed"),
        Case(updateBody(["expiration": #""1970-01-01T00:00:00Z""#]), "expiration date_passed"),
        Case(updateBody(["when": #""1970-01-01T00:00:00Z""#]), "when out_of_range"),
        Case(updateBody(["restart": "true"]), "restart not_allowed"),
        Case(updateBody(["onUnknownStart": #""resend""#]), "onUnknownStart not_allowed"),
        Case(endBody(["conflate": "false"]), "conflate not_allowed"),
        Case(updateBody(["when": #"{"offset":-60}"#]), "when.offset out_of_range"),
        Case(updateBody(["when": "1795204799"]), "when out_of_range"),
        Case(updateBody(["latenessMax": "60"]), "latenessMax invalid"),
        Case(updateBody(["delivery": #""channel""#]), "delivery not_available"),
        Case(updateBody(["delivery": #""auto""#]), "delivery not_available"),
    ]

    @Test(arguments: parsing + audiences + payload + datesAndOptions)
    func `all problems of a send are reported by field and code`(_ refused: Case) {
        #expect(fixture.problems(in: refused.body).sorted() == refused.problems.sorted())
    }

    @Test func `problems of the JSON and of the rules are reported together`() {
        let body = updateBody([
            "priority": "3", "staleDate": "true", "dismissalDate": "1795208400", "nonsense": "1",
        ])
        #expect(
            fixture.problems(in: body).sorted() == [
                "dismissalDate not_allowed", "nonsense unknown_field", "priority out_of_range",
                "staleDate wrong_type",
            ])
    }

    @Test func `private groups are one user's, by the type or by the call`() throws {
        let fixture = DeciderFixture(privateType: true)
        let start = startBody([
            "attributesType": #""Order""#, "audience": #"{"users":["u"]}"#, "attributes": "{}",
        ])
        let send = try fixture.send(start)
        #expect(send.owner == .user("u") && send.audience == .users(["u"]))
        #expect(send.content.attributes?.bytes == Array(#"{"orderId":"m1"}"#.utf8))
        let startForEveryone = startBody(["attributesType": #""Order""#])
        #expect(fixture.problems(in: startForEveryone) == ["audience not_one_user"])
        let privateTypeAndUser = ["attributesType": #""Order""#, "audience": #"{"users":["u"]}"#]
        #expect(try fixture.send(updateBody(privateTypeAndUser)).owner == .user("u"))
        #expect(
            fixture.problems(in: updateBody(privateTypeAndUser.merging(["private": "false"]) { $1 })) == [
                "private conflict"
            ])
        // The owner of the group depends on the type, so the call must name the type.
        #expect(
            fixture.problems(in: updateBody(["audience": #"{"users":["u"]}"#])) == ["attributesType missing"])
        #expect(try fixture.send(updateBody()).owner == nil)
        let privateCall = ["private": "true", "audience": #"{"users":["u"]}"#]
        #expect(try fixture.send(updateBody(privateCall)).owner == .user("u"))
    }
}
