import APNs
import Identifiers
import InstallationRecords
import JSON
import Payloads
import Testing

@testable import APNsSimulator

// The start of activities on phones, and the reports about it.

@Test func `a start shows an activity, and its token is reported with the group from the attributes`() throws
{
    var fixture = PhonesFixture()
    let first = try #require(fixture.sink.reports(of: .startToken).first { $0.installation == "phone-1" })
    #expect(first.attributesType == "Match")
    #expect(first.token == String(decoding: fixture.startToken(1).hex, as: UTF8.self))
    #expect(fixture.send(fixture.startPayload(score: 2), to: fixture.startToken(1)) == .started)
    #expect(fixture.sink.reports(of: .updateToken).isEmpty, "a token takes a while")
    let shown = try #require(fixture.activity(1))
    #expect(shown.text == #"{"score":2}"# && shown.group == "m1" && shown.state == .active)
    fixture.pass(seconds: 3)
    let report = try #require(fixture.sink.reports(of: .updateToken).first)
    #expect(report.installation == "phone-1" && report.user == "user-1" && report.group == "m1")
    #expect(report.activity == shown.id && report.os == "18.1")
    #expect(fixture.activity(0) == nil && fixture.activity(2) == nil)
}

@Test func `a phone whose attributes name no group never learns one`() throws {
    var fixture = PhonesFixture()
    fixture.startActivity(onPhone: 0, group: nil)
    #expect(try #require(fixture.sink.reports(of: .updateToken).first).group == nil)
    #expect(fixture.activity()?.group == nil)
    #expect(fixture.phones.groupNames(limit: 10).isEmpty)
}

/// Returns the payload of a valid start with one change.
private func changed(_ change: (inout PushPayload) -> Void) -> PushPayload {
    var payload = PhonesFixture(1).startPayload()
    change(&payload)
    return payload
}

@Test(arguments: [
    (PushEffect.unknownEvent, changed { $0.event = nil }),
    (.wrongEventForToken, changed { $0.event = .update }),
    (.timestampMissing, changed { $0.timestamp = nil }),
    (.contentStateMissing, changed { $0.contentState = nil }),
    (.attributesMissing, changed { $0.attributes = nil }),
    (.attributesMissing, changed { $0.attributesType = nil }),
    (.attributesTypeUnknown, changed { $0.attributesType = "Other" }),
    (.attributesNotDecoded, changed { $0.attributes = raw(#"{"team":1}"#) }),
    (.contentStateNotDecoded, changed { $0.contentState = raw(#"{"score":"1"}"#) }),
    (.alertMissing, changed { $0.hasAlert = false }),
])
func `an invalid start is ignored silently, and the reason is remembered`(
    _ effect: PushEffect, _ payload: PushPayload
) {
    let fixture = PhonesFixture(1)
    #expect(fixture.send(payload, to: fixture.startToken(0)) == effect)
    #expect(fixture.activity() == nil)
    #expect(fixture.phones.effectCounts().first { $0.effect == effect }?.count == 1)
}

@Test(arguments: [
    (#"{}"#, false), (#""""#, false), ("1", false), ("null", false), (#"{"title":"Goal"}"#, true),
    (#""Goal""#, true),
])
func `an empty alert starts nothing`(alert: String, starts: Bool) throws {
    let fixture = PhonesFixture(1)
    let body = """
        {"aps":{"event":"start","timestamp":\(fixture.nowSeconds),"content-state":{"score":1},
         "attributes-type":"Match","attributes":{"team":"A"},"alert":\(alert)}}
        """
    let payload = try #require(try JSONReader().read(Array(body.utf8)) { PushPayload($0, depth: .whole) })
    #expect(fixture.send(payload, to: fixture.startToken(0)) == (starts ? .started : .alertMissing))
}

@Test func `a phone remembers the push and the part of it that did not decode`() throws {
    var fixture = PhonesFixture(2)
    let token = fixture.startActivity(onPhone: 1)
    func problem(_ payload: PushPayload, to token: PushToken) -> PhoneScreen.ReceivedPush.DecodingProblem? {
        var push = fixture.push(payload, .token(token))
        push.id = PushID(high: 7, low: 9)
        fixture.phones.deliver(push)
        let number = fixture.phones.tokens.identity(of: token)?.phone ?? 0
        let received = fixture.phones.screen(ofPhone: number, at: fixture.now).receivedPushes.first
        #expect(received?.id == PushID(high: 7, low: 9))
        return received?.problem
    }
    var update = fixture.updatePayload(1, at: fixture.nowSeconds + 1)
    update.contentState = raw(#"{"score":"1"}"#)
    // Send twice: the second result comes from the cache, also after the result of another push.
    for _ in 1...2 {
        let stateProblem = try #require(problem(update, to: token))
        #expect(
            stateProblem.path == "content-state.score" && stateProblem.message.contains("string"),
            "\(stateProblem)")
        let start = changed { $0.attributes = raw(#"{"team":1}"#) }
        #expect(problem(start, to: fixture.startToken(0))?.path == "attributes.team")
    }
    update.contentState = raw("[1]")
    #expect(problem(update, to: token)?.path == "content-state")
    update.contentState = raw(#"{"score":2}"#)
    #expect(problem(update, to: token) == nil)
}

@Test func `old systems have no start tokens, and systems before iOS 18 do not start with a channel`() {
    let old = PhonesFixture(1, population: { $0.systems = [(OSVersion(17, 1), 1)] })
    #expect(old.sink.reports(of: .startToken).isEmpty)
    #expect(old.status(of: old.startToken(0)) == .unknown)
    let middle = PhonesFixture(1, population: { $0.systems = [(OSVersion(17, 6), 1)] })
    var payload = middle.startPayload()
    payload.channel = "Y2hhbm5lbA=="
    #expect(middle.send(payload, to: middle.startToken(0)) == .systemHasNoChannels)
    #expect(middle.send(middle.startPayload(), to: middle.startToken(0)) == .started)
}

@Test func `a phone with Live Activities switched off shows none`() throws {
    let fixture = PhonesFixture(1, population: { $0.switchedOffShare = 1 })
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .switchedOff)
    #expect(try #require(fixture.sink.reports(of: .startToken).first).activitiesEnabled == false)
}

@Test func `five activities run at once, and an end permits the next one`() {
    let fixture = PhonesFixture(1)
    for number in 0..<5 {
        #expect(
            fixture.send(fixture.startPayload(group: "m\(number)"), to: fixture.startToken(0)) == .started)
    }
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .tooManyActivities)
    let token = fixture.phones.updateToken(ofActivity: fixture.phones.activityIndices(ofPhone: 0)[2])
    #expect(fixture.send(fixture.endPayload(at: fixture.nowSeconds + 1), to: token) == .ended)
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .started)
}

@Test func `a start that is sent twice is shown twice`() throws {
    var fixture = PhonesFixture(2)
    fixture.startActivity(onPhone: 0)
    fixture.startActivity(onPhone: 0)
    fixture.startActivity(onPhone: 1)
    let group = try #require(fixture.phones.screens(ofGroup: "m1", at: fixture.now))
    #expect(group.activities == 3 && group.phonesWithSeveral == 1)
}

@Test func `an app can have one start token for all its types, or one for each`() {
    let each = PhonesFixture(1, types: ["Match", "Order"])
    #expect(each.send(each.startPayload(type: "Order"), to: each.startToken(0, slot: 1)) == .started)
    #expect(each.send(each.startPayload(type: "Order"), to: each.startToken(0)) == .attributesTypeUnknown)
    let one = PhonesFixture(1, population: { $0.app.hasOneStartToken = true }, types: ["Match", "Order"])
    #expect(one.sink.reports(of: .startToken).map(\.attributesType) == [nil])
    #expect(one.send(one.startPayload(type: "Order"), to: one.startToken(0)) == .started)
    #expect(one.send(one.startPayload(type: "Match"), to: one.startToken(0)) == .started)
}

@Test func `the push-to-start budget is used up, and fills again`() {
    var fixture = PhonesFixture(1, settings: { $0.startBudget = .init(pushes: 3, milliseconds: 30_000) })
    let token = fixture.startToken(0)
    for _ in 0..<3 { #expect(fixture.send(fixture.startPayload(), to: token) == .started) }
    #expect(fixture.send(fixture.startPayload(), to: token) == .startBudgetSpent)
    fixture.pass(seconds: 10)
    #expect(fixture.send(fixture.startPayload(), to: token) == .started)
    #expect(fixture.send(fixture.startPayload(), to: token) == .startBudgetSpent)
}

@Test func `a share of the starts yields no token until the app is opened`() {
    var fixture = PhonesFixture(400, settings: { $0.updateTokenShare = 0.4 })
    for number in 0..<400 { fixture.send(fixture.startPayload(), to: fixture.startToken(number)) }
    fixture.pass(seconds: 60)
    let reported = fixture.sink.reports(of: .updateToken).count
    // The share of 0.4 is 160 phones on average.
    #expect((120...200).contains(reported), "\(reported)")
    for number in 0..<400 { fixture.phones.openApp(onPhone: number, at: fixture.now) }
    fixture.tick()
    #expect(fixture.sink.reports(of: .updateToken).count == 400)
}

@Test func `a start token can be replaced right after its use`() {
    let fixture = PhonesFixture(1, settings: { $0.startTokenRotationShare = 1 })
    let token = fixture.startToken(0)
    fixture.send(fixture.startPayload(), to: token)
    #expect(fixture.startToken(0) != token)
    #expect(fixture.status(of: token) == .expired(since: fixture.now))
    fixture.tick()
    #expect(fixture.sink.reports(of: .startToken).count == 2)
}

@Test func `the app itself can start an activity`() {
    var fixture = PhonesFixture(1)
    fixture.phones.startActivity(
        ofType: "Match", attributes: raw(#"{"team":"A","netmeraGroupId":"m9"}"#),
        contentState: raw(#"{"score":0}"#),
        onPhone: 0, at: fixture.now)
    fixture.pass(seconds: 5)
    #expect(fixture.sink.reports(of: .updateToken).map(\.group) == ["m9"])
    #expect(
        !fixture.phones.startActivity(
            ofType: "No", attributes: raw("{}"), contentState: raw("{}"), onPhone: 0, at: 0))
}
