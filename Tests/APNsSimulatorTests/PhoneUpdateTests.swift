import InstallationRecords
import Testing

@testable import APNsSimulator

// Updates and ends of activities: timestamps, dates, tokens and budgets.

@Test func `a phone shows the newest timestamp, never an older or equal one`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    let time = fixture.nowSeconds
    #expect(fixture.send(fixture.updatePayload(2, at: time + 2), to: token) == .shown)
    #expect(fixture.send(fixture.updatePayload(1, at: time + 1), to: token) == .olderTimestamp)
    #expect(fixture.send(fixture.updatePayload(9, at: time + 2), to: token) == .sameTimestamp)
    #expect(fixture.send(fixture.endPayload(at: time + 1), to: token) == .olderTimestamp)
    #expect(fixture.activity()?.text == #"{"score":2}"#)
    #expect(
        fixture.screen().receivedPushes.map(\.effect) == [
            .olderTimestamp, .sameTimestamp, .olderTimestamp, .shown, .started,
        ])
    var lenient = PhonesFixture(1, settings: { $0.acceptsEqualTimestamps = true })
    let other = lenient.startActivity()
    #expect(lenient.send(lenient.updatePayload(2, at: time + 2), to: other) == .shown)
    #expect(lenient.send(lenient.updatePayload(3, at: time + 2), to: other) == .shown)
}

@Test func `milliseconds in a timestamp hide all later updates`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    #expect(fixture.send(fixture.updatePayload(1, at: fixture.now), to: token) == .shown)
    #expect(fixture.send(fixture.updatePayload(2), to: token) == .olderTimestamp)
}

@Test func `an update that does not decode changes neither the screen nor the newest timestamp`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    let time = fixture.nowSeconds
    var wrong = fixture.updatePayload(1, at: time + 5)
    wrong.contentState = raw(#"{"score":"1"}"#)
    #expect(fixture.send(wrong, to: token) == .contentStateNotDecoded)
    wrong.contentState = nil
    #expect(fixture.send(wrong, to: token) == .contentStateMissing)
    wrong.timestamp = nil
    #expect(fixture.send(wrong, to: token) == .timestampMissing)
    wrong.event = nil
    #expect(fixture.send(wrong, to: token) == .unknownEvent)
    #expect(fixture.send(fixture.startPayload(), to: token) == .wrongEventForToken)
    #expect(fixture.send(fixture.updatePayload(2, at: time + 1), to: token) == .shown)
}

@Test func `an activity becomes stale, and an update makes it active again`() throws {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    var payload = fixture.updatePayload(1)
    payload.staleDate = fixture.nowSeconds + 60
    #expect(fixture.send(payload, to: token) == .shown)
    fixture.pass(seconds: 61)
    #expect(fixture.activity()?.state == .stale)
    #expect(fixture.sink.reports(of: .state).map(\.state) == [.stale])
    #expect(fixture.send(fixture.updatePayload(2), to: token) == .shown)
    #expect(fixture.activity()?.state == .active)
    fixture.pass(seconds: 600)
    #expect(fixture.activity()?.state == .active, "an update without a date clears the stale date")
}

@Test func `the system ends an activity after eight hours, and removes it four hours later`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    fixture.pass(seconds: 8 * 3_600 - 10)
    #expect(fixture.activity()?.state == .active)
    fixture.pass(seconds: 10)
    #expect(fixture.activity()?.state == .ended)
    #expect(fixture.sink.reports(of: .state).map(\.state) == [.ended])
    #expect(fixture.status(of: token) == .valid)
    #expect(fixture.send(fixture.updatePayload(1), to: token) == .alreadyEnded)
    fixture.pass(seconds: 4 * 3_600)
    #expect(fixture.activity() == nil)
    #expect(fixture.sink.reports(of: .state).map(\.state) == [.ended, .dismissed])
    #expect(fixture.status(of: token) == .unregistered(since: fixture.now))
    #expect(fixture.send(fixture.updatePayload(1), to: token) == .noLongerShown)
}

@Test func `an END keeps the last state for four hours, or until its date, or not at all`() {
    var fixture = PhonesFixture(3)
    let tokens = [
        fixture.startActivity(onPhone: 0, score: 4), fixture.startActivity(onPhone: 1),
        fixture.startActivity(onPhone: 2),
    ]
    let time = fixture.nowSeconds
    #expect(fixture.send(fixture.endPayload(), to: tokens[0]) == .ended)
    #expect(fixture.send(fixture.endPayload(dismissal: time + 60), to: tokens[1]) == .ended)
    #expect(fixture.send(fixture.endPayload(dismissal: time - 1), to: tokens[2]) == .ended)
    #expect(fixture.activity(0)?.text == #"{"score":4}"#, "an end without a state keeps the last one")
    #expect(fixture.activity(1)?.state == .ended)
    #expect(fixture.activity(2) == nil)
    fixture.pass(seconds: 61)
    #expect(fixture.activity(1) == nil)
    fixture.pass(seconds: 4 * 3_600 - 62)
    #expect(fixture.activity(0)?.state == .ended)
    fixture.pass(seconds: 2)
    #expect(fixture.activity(0) == nil)
}

@Test func `a dismissal date is limited to four hours`() {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    #expect(fixture.send(fixture.endPayload(dismissal: .max), to: token) == .ended)
    fixture.pass(seconds: 4 * 3_600)
    #expect(fixture.activity() == nil)
}

@Test func `a dismissed activity stays away, and its token is gone`() throws {
    var fixture = PhonesFixture(1)
    let token = fixture.startActivity()
    let id = try #require(fixture.activity()?.id)
    #expect(fixture.phones.dismiss(activity: id, onPhone: 0, at: fixture.now))
    #expect(!fixture.phones.dismiss(activity: id, onPhone: 0, at: fixture.now))
    #expect(fixture.status(of: token) == .unregistered(since: fixture.now))
    fixture.tick()
    #expect(fixture.sink.reports(of: .state).map(\.state) == [.dismissed])
    // Another activity reuses its slot.
    let other = fixture.startActivity()
    #expect(other != token && fixture.status(of: other) == .valid)
    #expect(fixture.send(fixture.updatePayload(7), to: token) == .noLongerShown)
    if case .unregistered = fixture.status(of: token) {} else { Issue.record("a dead token came back") }
}

@Test func `a rotated token is dead, and the new one is reported`() throws {
    var fixture = PhonesFixture(1, settings: { $0.deadTokenAcceptedMilliseconds = 1_000 })
    let token = fixture.startActivity()
    let activity = try #require(fixture.activity())
    #expect(fixture.phones.rotateToken(ofActivity: activity.id, onPhone: 0, at: fixture.now))
    fixture.tick()
    let reports = fixture.sink.reports(of: .updateToken)
    #expect(reports.count == 2 && reports[0].activity == reports[1].activity)
    #expect(reports[0].token != reports[1].token)
    #expect(fixture.status(of: token) == .valid, "APNs still accepts it for a second")
    #expect(fixture.send(fixture.updatePayload(1), to: token) == .deadToken)
    let since = fixture.now
    fixture.pass(seconds: 1)
    #expect(fixture.status(of: token) == .expired(since: since))
    #expect(fixture.send(fixture.updatePayload(1), to: fixture.phones.updateToken(ofActivity: 0)) == .shown)
}

@Test func `priority 10 uses the update budget, 5 does not, and frequent updates have their own`() {
    var fixture = PhonesFixture(
        40,
        settings: {
            $0.updateBudget = .init(pushes: 2, milliseconds: 3_600_000)
            $0.frequentUpdateBudget = .init(pushes: 4, milliseconds: 3_600_000)
        })
    for number in 0..<40 {
        let token = fixture.startActivity(onPhone: number)
        let isFrequent = fixture.phones.phones[number].traits.contains(.frequentUpdates)
        let time = fixture.nowSeconds
        let effects = (1...6).map { fixture.send(fixture.updatePayload($0, at: time + Int64($0)), to: token) }
        let budget = isFrequent ? 4 : 2
        #expect(effects.prefix(budget).allSatisfy { $0 == .shown })
        #expect(effects.dropFirst(budget).allSatisfy { $0 == .updateBudgetSpent })
        #expect(fixture.send(fixture.updatePayload(7, at: time + 7), to: token, priority: 5) == .shown)
    }
}

@Test func `the newest throttled update can be shown later`() {
    var fixture = PhonesFixture(
        1,
        settings: {
            $0.updateBudget = .init(pushes: 1, milliseconds: 3_600_000)
            $0.frequentUpdateBudget = $0.updateBudget
            $0.throttling = .delay(milliseconds: 5_000)
        })
    let token = fixture.startActivity()
    let time = fixture.nowSeconds
    #expect(fixture.send(fixture.updatePayload(1, at: time + 1), to: token) == .shown)
    #expect(fixture.send(fixture.updatePayload(3, at: time + 3), to: token) == .throttled)
    #expect(fixture.send(fixture.updatePayload(2, at: time + 2), to: token) == .throttled)
    #expect(fixture.activity()?.text == #"{"score":1}"#)
    fixture.pass(seconds: 5)
    #expect(fixture.activity()?.text == #"{"score":3}"#)
    #expect(fixture.screen().receivedPushes.first?.effect == .shown)
    fixture.pass(seconds: 60)
    #expect(fixture.activity()?.timestamp == time + 3)
}
