import CatalogRecords
import Identifiers
import InstallationRecords
import Testing

@testable import APNsSimulator

// Populations of phones: their shares, first launches, random events and limits.

@Test func `a population follows its shares, and is the same for the same seed`() {
    func make(_ seed: UInt64) -> PhonesFixture {
        PhonesFixture(
            2_000, settings: { $0.seed = seed },
            population: {
                $0.systems = [(OSVersion(18, 0), 3), (OSVersion(16, 4), 1)]
                $0.sandboxShare = 0.1
                $0.userShare = 0.5
                $0.phonesPerUser = 2
                $0.locales = ["en_GB", "de_DE"]
                $0.tags = [("vip", 0.25), ("all", 1)]
            })
    }
    let fixture = make(1)
    for _ in 0..<5 { fixture.tick() }
    let profiles = fixture.sink.reports(of: .profile)
    #expect(profiles.count == 2_000)
    func share(_ holds: (Report) -> Bool) -> Double { Double(profiles.count(where: holds)) / 2_000 }
    #expect(abs(share { $0.os == "18.0" } - 0.75) < 0.05)
    #expect(abs(share { $0.environment == .sandbox } - 0.1) < 0.03)
    #expect(abs(share { $0.user != nil } - 0.5) < 0.05)
    #expect(abs(share { $0.locale == "de_DE" } - 0.5) < 0.05)
    #expect(abs(share { $0.tags == ["vip", "all"] } - 0.25) < 0.05)
    #expect(share { $0.tags?.contains("all") == true } == 1)
    let starts = fixture.sink.reports(of: .startToken)
    #expect(starts.count == profiles.count { $0.os == "18.0" }, "iOS 16 has no start tokens")
    #expect(Set(starts.map(\.token)).count == starts.count)
    #expect(make(1).sink.reports == make(1).sink.reports)
    #expect(make(2).sink.reports != make(1).sink.reports)
    #expect(fixture.phones.number(ofInstallation: "phone-1999") == 1_999)
}

@Test func `first launches wait until the sink has capacity, and none is lost or reported twice`() {
    let phones = Phones()
    let sink = CollectedReports()
    phones.sink = sink
    sink.freeCapacity = 0
    let app = PhoneApp(id: "shop", bundleID: "com.example.shop", types: [ActivityType(name: "Match")])
    var people = Population(of: app, phones: 700)
    people.systems = [(OSVersion(18, 0), 1)]
    phones.add(people, at: 0)
    phones.tick(at: 1)
    #expect(sink.reports.isEmpty)
    #expect(phones.reportCounts.waiting == 700)
    var tickCount = 0
    while phones.reportCounts.waiting > 0, tickCount < 1_000 {
        sink.freeCapacity = 37
        phones.tick(at: 2)
        tickCount += 1
    }
    #expect(sink.reports(of: .profile).count == 700 && sink.reports(of: .startToken).count == 700)
    #expect(Set(sink.reports(of: .startToken).map(\.installation)).count == 700)
    let counts = phones.reportCounts
    #expect(counts.waiting == 0 && counts.sent == 1_400 && counts.lost == 0)
}

@Test func `reports above the limit are lost and counted`() {
    let fixture = PhonesFixture(10, settings: { $0.reportsWaitingMax = 4 })
    fixture.sink.freeCapacity = 0
    for number in 0..<10 { fixture.phones.logIn("u", onPhone: number, at: 0) }
    #expect(fixture.phones.reportCounts.waiting == 4)
    #expect(fixture.phones.reportCounts.lost == 6)
}

@Test func `a phone that is away at first reports its launch when it is back`() {
    var fixture = PhonesFixture(
        50,
        population: {
            $0.awayShare = 1
            $0.awayMilliseconds = 60_000
        })
    #expect(fixture.sink.reports.isEmpty)
    fixture.pass(seconds: 60)
    #expect(
        fixture.sink.reports(of: .profile).count == 50 && fixture.sink.reports(of: .startToken).count == 50)
}

/// Returns 90 phones of the group `match-42`, and ten of another one. Of the 90, phone 3 shows the score 9, phone 7 the
/// score 0 of the start, and the others show the score 1.
private func fixtureWithTwoGroups() -> PhonesFixture {
    var fixture = PhonesFixture(100)
    let tokens = (0..<100).map { fixture.startActivity(onPhone: $0, group: $0 < 90 ? "match-42" : "other") }
    let time = fixture.nowSeconds
    for (number, token) in tokens.enumerated() where number < 90 && number != 7 {
        #expect(fixture.send(fixture.updatePayload(number == 3 ? 9 : 1, at: time + 1), to: token) == .shown)
    }
    return fixture
}

@Test func `a group is counted by the screens of its phones, in pages`() throws {
    let fixture = fixtureWithTwoGroups()
    let group = try #require(fixture.phones.screens(ofGroup: "match-42", at: fixture.now))
    #expect(group.activities == 90 && group.stateCount == 3 && group.phonesWithSeveral == 0)
    #expect(group.shownStates.map(\.activities) == [88, 1, 1])
    #expect(group.shownStates[0].contentState == raw(#"{"score":1}"#))
    let page = try #require(fixture.phones.screens(ofGroup: "match-42", from: 1, limit: 1, at: fixture.now))
    #expect(page.shownStates == [group.shownStates[1]])
    #expect(fixture.phones.screens(ofGroup: "nobody", at: fixture.now) == nil)
    #expect(fixture.phones.groupNames(limit: 10) == ["match-42", "other"])
    #expect(fixture.phones.groupNames(after: "match-42", limit: 10) == ["other"])
}

@Test func `the phones that show a state of a group are listed, in pages`() {
    let fixture = fixtureWithTwoGroups()
    let behind = fixture.phones.installations(showing: raw(#"{"score":0}"#), ofGroup: "match-42", limit: 10)
    #expect(behind.installations == ["phone-7"] && behind.next == nil)
    var installations: [String] = []
    var next: Int? = 0
    while let first = next {
        let page = fixture.phones.installations(
            showing: raw(#"{"score":1}"#), ofGroup: "match-42", from: first, limit: 30)
        installations += page.installations
        next = page.next
    }
    #expect(Set(installations).count == 88 && installations.count == 88)
    #expect(
        fixture.phones.installations(showing: raw(#"{"score":77}"#), ofGroup: "match-42", limit: 9)
            .installations
            .isEmpty)
}

@Test func `receptions are limited for all phones together, and the newest are kept`() {
    var fixture = PhonesFixture(2, settings: { $0.receptionsMax = 10 })
    let quiet = fixture.startActivity(onPhone: 0)
    let loud = fixture.startActivity(onPhone: 1)
    #expect(fixture.send(fixture.updatePayload(1), to: quiet) == .shown)
    for number in 1...20 {
        fixture.send(fixture.updatePayload(number, at: fixture.nowSeconds + Int64(number)), to: loud)
    }
    #expect(fixture.screen(ofPhone: 1).receivedPushes.count == 10)
    #expect(fixture.screen(ofPhone: 0).receivedPushes.isEmpty)
    #expect(fixture.phones.screen(ofPhone: 1, receptions: 3, at: fixture.now).receivedPushes.count == 3)
    #expect(
        fixture.screen(ofPhone: 1).receivedPushes.map(\.timestamp)
            == (11...20).reversed().map { fixture.nowSeconds + $0 })
}

@Test func `random events of phones keep their mean rate for ticks of any length`() {
    for tickSeconds in [0.25, 5] {
        var fixture = PhonesFixture(400)
        var rates = PhoneEventRates()
        rates.leavesPerHour = 6
        // So short that a phone is back at the next tick.
        rates.awayMilliseconds = 1...2
        fixture.phones.eventRates = rates
        var leaveCount = 0
        fixture.tick()
        for _ in 0..<Int(1_200 / tickSeconds) {
            fixture.pass(seconds: tickSeconds)
            leaveCount += fixture.phones.phones.count { $0.traits.contains(.away) }
        }
        // 400 phones, six times an hour, for 20 minutes: 800 on average.
        #expect((640...960).contains(leaveCount), "ticks of \(tickSeconds) s: \(leaveCount)")
    }
}

@Test func `every random event of a phone occurs`() {
    var fixture = PhonesFixture(200)
    for number in 0..<200 { fixture.startActivity(onPhone: number) }
    var rates = PhoneEventRates()
    rates.leavesPerHour = 10
    rates.dismissalsPerHour = 1
    rates.tokenRotationsPerHour = 10
    rates.quitsPerHour = 2
    rates.opensPerHour = 5
    rates.updatesPerHour = 1
    rates.uninstallsPerHour = 0.5
    fixture.phones.eventRates = rates
    for _ in 0..<720 { fixture.pass(seconds: 5) }
    #expect(fixture.sink.reports(of: .updateToken).count > 400)
    #expect(fixture.sink.reports(of: .startToken).count > 200)
    #expect(fixture.sink.reports(of: .reconcile).count > 100)
    #expect(fixture.sink.reports(of: .state).contains { $0.state == .dismissed })
    #expect((0..<200).contains { fixture.phones.phones[$0].traits.contains(.removed) })
}

@Test func `a tick stays within its limits, and the next ticks do the rest`() {
    var fixture = PhonesFixture(
        100,
        settings: {
            $0.reportsPerTick = 30
            $0.wakesPerTick = 40
            $0.updateTokenMilliseconds = 1...1
        })
    // Each of the 100 phones reports its profile and its start token at its first launch.
    #expect(fixture.sink.reports.count == 30)
    for _ in 0..<6 { fixture.tick() }
    #expect(fixture.sink.reports.count == 200)
    for number in 0..<100 { fixture.send(fixture.startPayload(), to: fixture.startToken(number)) }
    fixture.pass(seconds: 1)
    #expect(fixture.phones.activities.count { $0.isTokenReported } == 40)
    for _ in 0..<4 { fixture.tick() }
    #expect(fixture.sink.reports(of: .updateToken).count == 100)
}
