import Identifiers
import InstallationRecords
import Testing

@testable import APNsSimulator

// Phones that are away, apps that are quit, updated or removed, restarts of the simulator, and channels.

@Test func `APNs stores one push for a phone that is away, the latest, until it expires`() {
    var fixture = PhonesFixture(2)
    let tokens = [fixture.startActivity(onPhone: 0), fixture.startActivity(onPhone: 1)]
    for number in 0..<2 { fixture.phones.takeOffline(phone: number, until: fixture.now + 60_000) }
    let time = fixture.nowSeconds
    #expect(fixture.send(fixture.updatePayload(1, at: time + 1), to: tokens[0]) == .stored)
    #expect(fixture.send(fixture.updatePayload(2, at: time + 2), to: tokens[0]) == .stored)
    #expect(
        fixture.send(fixture.updatePayload(3, at: time + 3), to: tokens[0], expiration: 0) == .lostWhileAway)
    #expect(
        fixture.send(fixture.updatePayload(1, at: time + 1), to: tokens[1], expiration: time + 30) == .stored)
    #expect(fixture.activity(0)?.text == #"{"score":0}"#)
    fixture.pass(seconds: 60)
    #expect(fixture.activity(0)?.text == #"{"score":2}"#)
    #expect(
        fixture.screen(ofPhone: 0).receivedPushes.map(\.effect) == [
            .shown, .lostWhileAway, .stored, .replacedInStore, .stored, .started,
        ])
    #expect(fixture.activity(1)?.text == #"{"score":0}"#)
    #expect(fixture.screen(ofPhone: 1).receivedPushes.first?.effect == .expiredInStore)
}

@Test func `a phone that comes back shows no older state, and sends the reports that it owes`() {
    var fixture = PhonesFixture(1)
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .started)
    fixture.phones.takeOffline(phone: 0, until: fixture.now + 3_600_000)
    fixture.pass(seconds: 60)
    #expect(fixture.sink.reports(of: .updateToken).isEmpty)
    fixture.phones.bringOnline(phone: 0, at: fixture.now)
    fixture.tick()
    #expect(fixture.sink.reports(of: .updateToken).count == 1)
    fixture.phones.takeOffline(phone: 0, until: fixture.now + 10 * 3_600_000)
    fixture.pass(seconds: 9 * 3_600)
    fixture.pass(seconds: 3_600)
    #expect(fixture.sink.reports(of: .state).isEmpty)
    #expect(
        fixture.sink.reports(of: .reconcile).map(\.runningActivities) == [[]],
        "the running activities reveal the end")
}

@Test func `the store of APNs is limited`() {
    var fixture = PhonesFixture(3, settings: { $0.storedPushesMax = 2 })
    for number in 0..<3 {
        fixture.phones.takeOffline(phone: number, until: fixture.now + 60_000)
        let effect = fixture.send(fixture.startPayload(), to: fixture.startToken(number))
        #expect(effect == (number < 2 ? .stored : .storeIsFull))
    }
    fixture.pass(seconds: 60)
    #expect(fixture.activity(1) != nil && fixture.activity(2) == nil)
}

@Test func `an app that was quit shows pushes without reports, and reports when it is opened`() {
    var fixture = PhonesFixture(1)
    fixture.phones.quitApp(onPhone: 0)
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .started)
    fixture.pass(seconds: 60)
    #expect(fixture.sink.reports(of: .updateToken).isEmpty)
    fixture.phones.openApp(onPhone: 0, at: fixture.now)
    fixture.tick()
    #expect(fixture.sink.reports(of: .updateToken).count == 1)
    #expect(fixture.sink.reports(of: .reconcile).map(\.runningActivities) == [[fixture.activity()!.id]])
}

@Test func `an update of the app changes its start tokens, and they are reported when it is opened`() {
    let fixture = PhonesFixture(1)
    let old = fixture.startToken(0)
    fixture.phones.updateApp(onPhone: 0, at: fixture.now)
    #expect(fixture.status(of: old) == .expired(since: fixture.now))
    fixture.tick()
    #expect(fixture.sink.reports(of: .startToken).count == 1)
    fixture.phones.openApp(onPhone: 0, at: fixture.now)
    fixture.tick()
    let digits = String(decoding: fixture.startToken(0).hex, as: UTF8.self)
    #expect(fixture.sink.reports(of: .startToken).last?.token == digits)
}

@Test func `after a deletion of the app every token is gone since then`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    fixture.phones.uninstallApp(onPhone: 0, at: fixture.now)
    let since = fixture.now
    fixture.pass(seconds: 10)
    #expect(fixture.status(of: token) == .unregistered(since: since))
    #expect(fixture.status(of: fixture.startToken(0)) == .unregistered(since: since))
    #expect(fixture.send(fixture.startPayload(), to: fixture.startToken(0)) == .appRemoved)
    #expect(fixture.activity() == nil)
}

@Test func `a token has a status that depends on its environment, app and digits`() {
    let fixture = PhonesFixture(1)
    let token = fixture.startToken(0)
    func status(_ token: PushToken, _ environment: Environment, _ bundle: String) -> TokenStatus {
        fixture.phones.status(of: token, environment: environment, bundleID: bundle, at: fixture.now)
    }
    #expect(status(token, .production, "com.example.shop") == .valid)
    #expect(status(token, .sandbox, "com.example.shop") == .unknown)
    #expect(status(token, .production, "com.example.other") == .wrongTopic)
    for index in token.bytes.indices {
        var bytes = token.bytes
        bytes[index] ^= 1
        #expect(PushToken(bytes: bytes).map { status($0, .production, "com.example.shop") } == .unknown)
    }
    let future = fixture.phones.tokens.token(
        of: .init(
            kind: .update, phone: 0, index: 99, generation: 0, processNumber: fixture.phones.processNumber))
    #expect(status(future, .production, "com.example.shop") == .unknown)
}

@Test func `a token leads back to its phone only with the seed that made it`() {
    let tokens = PhoneTokens(seed: 2, byteCount: 32)
    for kind in [PhoneTokens.Identity.TokenKind.start, .update] {
        let identity = PhoneTokens.Identity(
            kind: kind, phone: 999_999, index: 4_000_000, slotGeneration: 65_535, generation: 7,
            processNumber: 65_534)
        #expect(tokens.identity(of: tokens.token(of: identity)) == identity)
        #expect(PhoneTokens(seed: 3, byteCount: 32).identity(of: tokens.token(of: identity)) == nil)
        #expect(tokens.token(of: identity).bytes.count == 32)
    }
}

@Test func `after a restart of the simulator the earlier activities are gone, and no others`() {
    var before = PhonesFixture(2)
    let old = [before.startActivity(onPhone: 0), before.startActivity(onPhone: 1)]
    var after = PhonesFixture(2, secondsLater: 60)
    #expect(after.status(of: before.startToken(0)) == .valid, "a phone keeps its start token")
    let new = after.startActivity(onPhone: 0)
    for token in old {
        #expect(after.status(of: token) == .unregistered(since: (PhonesFixture.begin + 60) * 1_000))
        #expect(after.send(after.updatePayload(7, at: after.nowSeconds + 1), to: token) == .noLongerShown)
    }
    #expect(new != old[0] && after.status(of: new) == .valid)
    #expect(after.activity()?.text == #"{"score":0}"#)
    #expect(after.activity()?.id != before.activity()?.id)
}

@Test func `users log in and out, and the app reports it`() {
    let fixture = PhonesFixture(1)
    fixture.phones.logIn("ann", onPhone: 0, at: fixture.now)
    fixture.phones.logIn(nil, onPhone: 0, at: fixture.now)
    fixture.phones.unregister(activityType: "Match", onPhone: 0, at: fixture.now)
    fixture.tick()
    // Reports are encoded when they are sent, so a user in between is not reported.
    #expect(fixture.sink.reports(of: .profile).map(\.user) == ["user-0", nil, nil])
    #expect(fixture.sink.reports(of: .unregister).map(\.attributesType) == ["Match"])
}

@Test func `a renamed phone is found only by its new name`() {
    let fixture = PhonesFixture(1)
    fixture.phones.rename(phone: 0, to: "a1")
    #expect(fixture.phones.number(ofInstallation: "a1") == 0)
    #expect(fixture.phones.number(ofInstallation: "phone-0") == nil)
    #expect(fixture.phones.number(ofInstallation: "phone-7") == nil)
}

@Test func `a tap opens the app and is reported`() throws {
    var fixture = PhonesFixture(1)
    fixture.startActivity()
    let id = try #require(fixture.activity()?.id)
    fixture.phones.quitApp(onPhone: 0)
    #expect(fixture.phones.tap(activity: id, onPhone: 0, at: fixture.now))
    fixture.tick()
    #expect(fixture.sink.reports(of: .tap).map(\.activity) == [id])
    #expect(id.count == 36 && !fixture.phones.tap(activity: "x", onPhone: 0, at: fixture.now))
}

// MARK: Channels

private let channel = "Y2hhbm5lbA=="

@Test func `a broadcast reaches its listeners and no other phone`() {
    var fixture = PhonesFixture(4)
    fixture.startActivity(onPhone: 0, channel: channel)
    fixture.startActivity(onPhone: 1, channel: channel)
    fixture.startActivity(onPhone: 2, channel: "b3RoZXI=")
    fixture.startActivity(onPhone: 3)
    #expect(fixture.sink.reports(of: .updateToken).count == 1, "a listener of a channel needs no token")
    fixture.phones.deliver(fixture.push(fixture.updatePayload(5), .channel(channel)))
    #expect((0..<4).map { fixture.activity($0)?.text == #"{"score":5}"# } == [true, true, false, false])
    #expect(fixture.activity(0)?.channel == channel)
    var elsewhere = fixture.push(fixture.updatePayload(6, at: fixture.nowSeconds + 1), .channel(channel))
    elsewhere.environment = .sandbox
    fixture.phones.deliver(elsewhere)
    #expect(fixture.activity(0)?.text == #"{"score":5}"#, "channels are not shared between environments")
}

@Test(arguments: [true, false])
func `a phone that is late or was away gets the stored message, if the channel stores it`(_ isStored: Bool) {
    var fixture = PhonesFixture(3)
    fixture.startActivity(onPhone: 0, channel: channel)
    fixture.startActivity(onPhone: 1, channel: channel)
    fixture.phones.takeOffline(phone: 1, until: fixture.now + 60_000)
    fixture.pass(seconds: 10)
    let goal = fixture.updatePayload(5, at: fixture.nowSeconds + 100)
    fixture.phones.deliver(fixture.push(goal, .channel(channel), isStored: isStored))
    fixture.startActivity(onPhone: 2, channel: channel)
    fixture.pass(seconds: 60)
    let kept = isStored ? #"{"score":5}"# : #"{"score":0}"#
    #expect(fixture.activity(0)?.text == #"{"score":5}"#)
    #expect(fixture.activity(1)?.text == kept)
    #expect(fixture.activity(2)?.text == kept)
}

@Test func `a long broadcast is delivered in parts, in order, to every listener`() {
    var fixture = PhonesFixture(25, settings: { $0.broadcastPhonesPerTick = 10 })
    for number in 0..<25 { fixture.startActivity(onPhone: number, channel: channel) }
    fixture.phones.deliver(fixture.push(fixture.updatePayload(1), .channel(channel)))
    fixture.phones.deliver(
        fixture.push(fixture.updatePayload(2, at: fixture.nowSeconds + 1), .channel(channel)))
    func showing(_ score: Int) -> Int {
        (0..<25).count { fixture.activity($0)?.text == "{\"score\":\(score)}" }
    }
    // Each `deliver` reached ten more phones, both times for the first broadcast.
    #expect(showing(1) == 20 && showing(2) == 0)
    fixture.phones.uninstallApp(onPhone: 3, at: fixture.now)
    for _ in 0..<3 { fixture.tick() }
    #expect(showing(2) == 24)
}

@Test func `a channel forgets listeners that left`() {
    var fixture = PhonesFixture(1)
    for _ in 0..<500 {
        fixture.startActivity(onPhone: 0, channel: channel)
        fixture.phones.dismiss(activity: fixture.activity()!.id, onPhone: 0, at: fixture.now)
        fixture.phones.deliver(fixture.push(fixture.updatePayload(1), .channel(channel)))
    }
    #expect(fixture.phones.channels.channels[0].listeners.count < 100)
    #expect(fixture.phones.activities.count == 1)
}

@Test
func `above the limit of channels no broadcast arrives, and above the limit of broadcasts all are completed`()
{
    var fixture = PhonesFixture(
        25,
        settings: {
            $0.broadcastPhonesPerTick = 1
            $0.broadcastsMax = 3
            $0.channelsMax = 1
        })
    for number in 0..<25 {
        fixture.startActivity(onPhone: number, channel: number == 24 ? "b3RoZXI=" : channel)
    }
    for score in 1...20 {
        let payload = fixture.updatePayload(score, at: fixture.nowSeconds + Int64(score))
        fixture.phones.deliver(fixture.push(payload, .channel(channel)))
        fixture.phones.deliver(fixture.push(payload, .channel("b3RoZXI=")))
        #expect(fixture.phones.channels.broadcasts.count <= 3)
    }
    for _ in 0..<100 { fixture.tick() }
    #expect((0..<24).allSatisfy { fixture.activity($0)?.text == #"{"score":20}"# })
    #expect(fixture.activity(24)?.text == #"{"score":0}"#, "above the limit no broadcast arrives")
    #expect(fixture.phones.channels.channels.count == 1)
}

@Test func `ended activities are removed for new ones, the oldest first`() {
    var fixture = PhonesFixture(1, settings: { $0.endedActivitiesMax = 3 })
    for score in 0..<30 {
        let token = fixture.startActivity(onPhone: 0, score: score)
        #expect(fixture.send(fixture.endPayload(), to: token) == .ended)
    }
    fixture.startActivity(onPhone: 0, score: 30)
    #expect(fixture.screen().activities.map(\.text) == [30, 29, 28].map { "{\"score\":\($0)}" })
    #expect(fixture.phones.activities.count <= 4)
}
