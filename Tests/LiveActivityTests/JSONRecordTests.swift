import JSON
import Simulation
import Testing

@testable import LiveActivity

private var reader: JSONReader { JSONReader() }

private func text(_ record: some JSONRecord) -> String { String(decoding: record.encoded(), as: UTF8.self) }

private func problems<R: JSONRecord>(_ type: R.Type, _ text: String) -> [String] {
    do {
        _ = try R.decode(Array(text.utf8), with: JSONReader())
        return []
    } catch .malformed(let error) {
        return error.problems.map { "\($0.path) \($0.code.rawValue)" }
    } catch {
        return ["\(error)"]
    }
}

private func makeSend() -> Send {
    var content = PushContent(.start)
    content.contentState = raw(#"{"home": 1.0}"#)
    content.attributesType = "Match"
    content.attributes = raw(#"{"team":"A"}"#)
    content.alert = Alert(title: .plain("t"), body: .localized(key: "k", arguments: ["1"]), sound: "default")
    content.staleDate = 1_763_700_000
    content.relevanceScore = 50
    content.asksForToken = true
    var send = Send(
        id: "s1", app: "shop", group: "m/1", audience: .tags(["a", "b"]), content: content,
        priority: .immediate,
        acceptedAt: 1_763_600_000_123)
    send.deadline = 1_763_610_000
    send.endDate = 1_763_620_000
    send.isConflatable = false
    send.unknownStartPolicy = .resend
    send.forcesRestart = true
    send.isDryRun = true
    send.collapseID = "c"
    send.expiration = 0
    send.fingerprint = "f1"
    send.generation = 7
    return send
}

@Test func `a send has this format and reads back`() throws {
    let send = makeSend()
    #expect(
        text(send)
            == #"{"v":1,"id":"s1","app":"shop","group":"m/1","audience":{"tags":["a","b"]},"event":"start","contentState":{"home": 1.0},"attributesType":"Match","attributes":{"team":"A"},"alert":{"title":"t","body":{"locKey":"k","locArgs":["1"]},"sound":"default"},"staleDate":1763700000,"relevanceScore":50,"inputPushToken":true,"priority":10,"collapseId":"c","acceptedAt":1763600000123,"deadline":1763610000,"expiration":0,"endDate":1763620000,"conflate":false,"onUnknownStart":"resend","restart":true,"dryRun":true,"fingerprint":"f1","generation":7}"#
    )
    #expect(try Send.decode(send.encoded(), with: reader) == send)
    var end = PushContent(.end)
    end.dismissalDate = 1_763_700_000
    for audience in [Audience.group, .users(["u"]), .activities(["a"])] {
        let send = Send(
            id: "s", app: "a", group: "g", audience: audience, content: end, priority: .powerSaving,
            acceptedAt: 1)
        #expect(try Send.decode(send.encoded(), with: reader) == send)
    }
}

@Test func `a report has this format and reads back`() throws {
    var report = Report(app: "shop", environment: .sandbox, installation: "i1", kind: .updateToken)
    report.user = "u1"
    report.attributesType = "Match"
    report.activity = "a1"
    report.group = "m1"
    report.token = "c0ffee"
    report.os = "18.1"
    report.frequentPushesEnabled = true
    report.tags = ["vip"]
    report.attributes = raw(#"{"n":1}"#)
    report.eventTime = 1_763_600_000_000
    report.id = "r1"
    #expect(
        text(report)
            == #"{"v":1,"app":"shop","environment":"sandbox","installationId":"i1","userId":"u1","kind":"updateToken","attributesType":"Match","activityId":"a1","groupId":"m1","token":"c0ffee","os":"18.1","frequentPushesEnabled":true,"tags":["vip"],"attributes":{"n":1},"eventTime":1763600000000,"reportId":"r1"}"#
    )
    #expect(try Report.decode(report.encoded(), with: reader) == report)
    #expect(String(decoding: report.key, as: UTF8.self) == "shop/i:i1")
    var reconcile = Report(app: "shop", environment: .production, installation: "i1", kind: .reconcile)
    reconcile.runningActivities = []
    reconcile.state = .pending
    reconcile.activitiesEnabled = false
    reconcile.locale = "de_DE"
    reconcile.timeZone = "Europe/Berlin"
    reconcile.appBuild = "7"
    reconcile.channel = "c=="
    #expect(try Report.decode(reconcile.encoded(), with: reader) == reconcile)
}

@Test(arguments: [
    ("startToken", ["token missing"]), ("updateToken", ["token missing", "activityId missing"]),
    ("state", ["state missing", "activityId missing"]), ("unregister", ["attributesType missing"]),
    ("reconcile", ["running missing"]), ("tap", ["activityId missing"]), ("heartbeat", []), ("profile", []),
])
func `a report without a field that its kind requires names the field`(kind: String, missing: [String]) {
    let text = #"{"v":1,"app":"a","environment":"production","installationId":"i","kind":"\#(kind)"}"#
    #expect(problems(Report.self, text) == missing)
}

@Test func `all problems of a report are reported at once`() {
    let text =
        #"{"v":1,"app":"a/b","environment":"test","installationId":"","kind":"startToken","token":"xyz","tags":[1],"attributes":7}"#
    #expect(
        problems(Report.self, text) == [
            "app invalid", "environment invalid", "installationId invalid", "token invalid",
            "tags[0] wrong_type",
            "attributes wrong_type",
        ])
}

@Test func `unknown fields are ignored, but a later version is refused`() throws {
    let later =
        #"{"v":1,"app":"a","environment":"production","installationId":"i","kind":"heartbeat","new":{"x":[1]}}"#
    #expect(try Report.decode(Array(later.utf8), with: reader).kind == .heartbeat)
    let version = later.replacing("\"v\":1", with: "\"v\":2")
    #expect(throws: RecordDecodingError.unknownVersion(2, known: 1)) {
        try Report.decode(Array(version.utf8), with: reader)
    }
    #expect(problems(Report.self, "{}").first == "v missing")
    #expect(problems(Report.self, "") == [" empty"])
}

@Test func `an app has this format and reads back, and an unknown type has the defaults`() throws {
    var type = ActivityType(name: "Match")
    type.requiredAttributes = ["home"]
    type.groupAttribute = "groupId"
    type.updateTokenMilliseconds = 3_600_000
    let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production, .sandbox], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [type])
    #expect(
        text(app)
            == #"{"v":2,"id":"shop","bundleId":"com.example.shop","environments":["production","sandbox"],"teamId":"ABCDE12345","keyId":"KEY1234567","activityTypes":[{"name":"Match","updateTokenTtl":"1h","requiredAttributes":["home"],"groupAttribute":"groupId"}]}"#
    )
    #expect(try App.decode(app.encoded(), with: reader) == app)
    #expect(app.activityType(named: "Other").groupAttribute == "netmeraGroupId")
    #expect(problems(App.self, text(app).replacing("ABCDE12345", with: "abc")) == ["teamId invalid"])
}

@Test func `mutated records never trap`() {
    var generator = SeededGenerator(seed: 4)
    let reader = JSONReader()
    let originals = [
        makeSend().encoded(), makeReceipt().encoded(),
        Report(app: "a", environment: .production, installation: "i", kind: .tap).encoded(),
    ]
    for _ in 0..<20_000 {
        var bytes = originals.randomElement(using: &generator)!
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let index = bytes.indices.randomElement(using: &generator)!
            switch Int.random(in: 0...2, using: &generator) {
            case 0: bytes[index] = .random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            default: bytes.insert(bytes.randomElement(using: &generator)!, at: index)
            }
        }
        _ = try? Send.decode(bytes, with: reader)
        _ = try? Report.decode(bytes, with: reader)
        _ = try? Receipt.decode(bytes, with: reader)
        _ = try? App.decode(bytes, with: reader)
    }
}
