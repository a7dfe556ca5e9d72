import Catalog
import CatalogRecords
import JSON
import Payloads
import RecordFormat
import Sends
import Telemetry
import Testing

@testable import Gateway

/// The bodies of Netmera's interfaces, and the sends that follow from them. The bodies are decided without a gateway, in
/// a catalog with the type `Match` and the segment `vips`.
struct NetmeraBodyTests {
    private let fixture = DeciderFixture()

    /// Returns a valid bulk start with members of its message added, replaced or, with the value nil, removed.
    private func bulk(_ message: [String: String?] = [:], target: String = #"{"sendToAll":true}"#) -> String {
        var members: [String: String] = [
            "title": #""t""#, "body": #""b""#, "platforms": #"["IOS"]"#, "type": #""LIVE_ACTIVITY""#,
            "contentState": #"{"score":0,"status":"1st"}"#, "liveActAttr": #"{"home":"A","away":"B"}"#,
            "liveActAttrType": #""Match""#, "groupId": #""m1""#,
        ]
        for (name, value) in message { members[name] = value }
        let text = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        return #"{"message":{\#(text.joined(separator: ","))},"target":\#(target)}"#
    }

    @Test func `a bulk start becomes a start with its alert, its group and its end`() throws {
        let send = try fixture.send(
            bulk(["liveActEndDate": #""2026-11-20T22:00:00Z""#]), by: DeciderFixture.bulk)
        #expect(send.content.event == .start && send.audience == .everyone && send.group == "m1")
        #expect(send.content.alert == Alert(title: .plain("t"), body: .plain("b")))
        #expect(send.endDate == DeciderFixture.now.seconds + 7200)
        #expect(
            send.content.attributes?.bytes == Array(#"{"netmeraGroupId":"m1","home":"A","away":"B"}"#.utf8))
        for (target, audience) in [
            (#"{"tags":["a"]}"#, Audience.tags(["a"])), (#"{"segments":["vips"]}"#, .segments(["vips"])),
            (#"{"extIds":["u","v"]}"#, .users(["u", "v"])),
            (#"{"sendToAll":false,"tags":["a"]}"#, .tags(["a"])),
        ] { #expect(try fixture.send(bulk(target: target), by: DeciderFixture.bulk).audience == audience) }
    }

    @Test func `every field that a bulk start must not have is refused by name`() {
        let cases: [(String, [String])] = [
            (bulk(["liveActAttr": #"{"home":"A"}"#]), ["message.liveActAttr required"]),
            (bulk(["staleDate": #""2026-11-20T22:00:00Z""#]), ["message.staleDate invalid"]),
            (bulk(["dismissalDate": #""2026-11-20T22:00:00Z""#]), ["message.dismissalDate invalid"]),
            (bulk(["liveActEndDate": #""2026-01-28T15:35:37Z""#]), ["message.liveActEndDate date_passed"]),
            (bulk(["liveActEndDate": "1795208400"]), ["message.liveActEndDate wrong_type"]),
            (bulk(["type": #""PUSH""#]), ["message.type invalid"]),
            (bulk(["type": nil]), ["message.type missing"]),
            (bulk(["platforms": #"["ANDROID"]"#]), ["message.platforms invalid"]),
            (bulk(["platforms": nil]), ["message.platforms missing"]),
            (bulk(["title": nil, "body": nil]), ["message.title required"]),
            (bulk(["groupId": nil]), ["message.groupId missing"]),
            (bulk(["liveActAttrType": #""Mtch""#]), ["message.liveActAttrType type_unknown"]),
            (bulk(["contentState": nil]), ["message.contentState required"]),
            (
                bulk(["contentState": #"{"score":true,"status":"x"}"#]),
                ["message.contentState does_not_decode"]
            ),
            (bulk(["groupID": #""x""#]), ["message.groupID unknown_field"]),
            (bulk(target: "{}"), ["target invalid"]),
            (bulk(target: #"{"sendToAll":true,"tags":["a"]}"#), ["target invalid"]),
            (bulk(target: #"{"sendToAll":false}"#), ["target invalid"]),
            (bulk(target: #"{"segments":["nobody"]}"#), ["target.segments[0] segment_unknown"]),
            (bulk(target: #"{"everybody":true}"#), ["target.everybody unknown_field", "target invalid"]),
        ]
        for (body, expected) in cases {
            #expect(
                fixture.problems(in: body, by: DeciderFixture.bulk).sorted() == expected.sorted(), "\(body)")
        }
    }

    @Test func `an update addresses a group, a user or named activities, and ENDED means END`() throws {
        func send(_ body: String) throws -> Send { try fixture.send(body, by: DeciderFixture.update) }
        let state = #""contentState":{"score":1,"status":"2nd"}"#
        let update = try send(
            #"{"groupId":"m1","action":"UPDATE",\#(state),"staleDate":"2026-01-11T09:21:37Z","priority":10}"#)
        #expect(update.content.event == .update && update.audience == .group)
        #expect(update.content.staleDate == 1_768_123_297)
        let end = try send(
            #"{"groupId":"m1","action":"END","dismissalDate":"2026-01-11T09:21:37Z","priority":5}"#)
        #expect(
            end.content.event == .end && end.priority == .powerSaving
                && end.content.dismissalDate == 1_768_123_297)
        #expect(try send(#"{"groupId":"m1","action":"ENDED"}"#).content.event == .end)
        let user = try send(#"{"groupId":"m1","action":"UPDATE",\#(state),"target":{"extId":"u"}}"#)
        #expect(user.audience == .users(["u"]))
        let activities = try send(
            #"{"groupId":"m1","action":"UPDATE",\#(state),"target":{"activityIds":["a","b"]}}"#)
        #expect(activities.audience == .activities(["a", "b"]))
    }

    @Test func `every field that an update must not have is refused by name`() {
        let state = #""contentState":{"score":1,"status":"2nd"}"#
        let cases: [(String, [String])] = [
            (
                #"{"groupId":"m1","action":"END","staleDate":"2026-01-11T09:21:37Z"}"#,
                ["staleDate not_allowed"]
            ),
            (
                #"{"groupId":"m1","action":"UPDATE",\#(state),"dismissalDate":"2026-01-11T09:21:37Z"}"#,
                ["dismissalDate not_allowed"]
            ),
            (#"{"groupId":"m1","action":"UPDATE"}"#, ["contentState required"]),
            (#"{"groupId":"m1","action":"START",\#(state)}"#, ["action invalid"]),
            (#"{"action":"UPDATE",\#(state)}"#, ["groupId missing"]),
            (#"{"groupId":"m1",\#(state)}"#, ["action missing"]),
            (
                #"{"groupId":"m1","action":"UPDATE",\#(state),"target":{"tags":["a"]}}"#,
                ["target invalid", "target.tags invalid"]
            ),
            (#"{"groupId":"m1","action":"UPDATE",\#(state),"target":{}}"#, ["target invalid"]),
        ]
        for (body, expected) in cases {
            #expect(
                fixture.problems(in: body, by: DeciderFixture.update).sorted() == expected.sorted(), "\(body)"
            )
        }
    }

    /// The content of the definitions in these tests.
    private static func definedContent() throws -> PushContent {
        var content = PushContent(.start)
        content.attributesType = "Match"
        content.alert = Alert(title: .plain("t"), body: .plain("b"))
        content.contentState = try RawJSON(
            checking: Array(#"{"score":0,"status":"1"}"#.utf8), with: JSONReader())
        content.attributes = try RawJSON(
            checking: Array(#"{"home":"A","away":"B"}"#.utf8), with: JSONReader())
        return content
    }

    /// Returns a fixture whose app has the definition 9401.
    private func makeFixtureWithDefinition(ofGroup group: String? = nil) throws -> DeciderFixture {
        var fixture = fixture
        var definition = NotificationDefinition(
            app: "shop", number: 9401, createdAt: 1, content: try Self.definedContent())
        definition.group = group
        _ = fixture.catalog.apply(key: definition.key, value: definition.encoded(), with: JSONReader())
        return fixture
    }

    @Test func `a definition is sent to one user, with the message's overrides`() throws {
        let fixture = try makeFixtureWithDefinition()
        func send(_ body: String) throws -> Send { try fixture.send(body, by: DeciderFixture.transactional) }
        let content = try Self.definedContent()
        let plain = try send(#"{"notificationKey":"9401","message":{"groupId":"g"},"target":{"extId":"u"}}"#)
        #expect(plain.audience == .users(["u"]) && plain.group == "g")
        #expect(plain.content.alert == content.alert && plain.content.contentState == content.contentState)
        let changed = try send(
            #"{"notificationKey":9401,"message":{"groupId":"g","title":"T","contentState":{"score":3,"status":"x"}},"target":{"extId":"u"}}"#
        )
        #expect(changed.content.alert == Alert(title: .plain("T"), body: .plain("b")))
        #expect(changed.content.contentState?.bytes == Array(#"{"score":3,"status":"x"}"#.utf8))
    }

    @Test func `a definition of the older format has the group`() throws {
        let fixture = try makeFixtureWithDefinition(ofGroup: "old")
        let body = #"{"notificationKey":"9401","target":{"extId":"u"}}"#
        #expect(try fixture.send(body, by: DeciderFixture.transactional).group == "old")
    }

    @Test func `a call without a known definition, a group or a user is refused by name`() throws {
        var fixture = try makeFixtureWithDefinition()
        func problems(_ body: String) -> [String] {
            fixture.problems(in: body, by: DeciderFixture.transactional)
        }
        #expect(
            problems(#"{"notificationKey":"9402","message":{"groupId":"g"},"target":{"extId":"u"}}"#)
                == ["notificationKey definition_unknown"])
        #expect(
            problems(#"{"notificationKey":"x","message":{"groupId":"g"},"target":{"extId":"u"}}"#).first
                == "notificationKey invalid")
        #expect(
            problems(#"{"notificationKey":"9401","target":{"extId":"u"}}"#) == ["message.groupId missing"])
        #expect(problems(#"{"notificationKey":"9401","message":{"groupId":"g"}}"#) == ["target missing"])
        #expect(
            problems(#"{"message":{"groupId":"g"},"target":{"extId":"u"}}"#).contains(
                "notificationKey missing"))
        // A definition of another app is unknown.
        fixture.app.id = "bank"
        #expect(
            problems(#"{"notificationKey":"9401","message":{"groupId":"g"},"target":{"extId":"u"}}"#)
                == ["notificationKey definition_unknown"])
    }

    @Test func `definition numbers increase and never repeat`() {
        let numbers = DefinitionNumbers()
        var last: Int64 = 0
        for _ in 0..<10_000 {
            let next = numbers.next(now: DeciderFixture.now)
            #expect(next > last)
            last = next
        }
    }
}
