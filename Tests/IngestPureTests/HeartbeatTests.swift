import CatalogRecords
import Identifiers
import InstallationRecords
import Testing
import TokenSealing

@testable import Ingest

/// Tests of reports that only repeat known facts. They must keep tokens from expiring, although the stage writes only
/// one of them in each write interval. Times are minutes.
@Suite struct HeartbeatTests {
    let phone = Phone()

    /// Returns whether a merged report must be written, or nil if it changes nothing.
    private func mustBeWritten(_ outcome: ReportMerger.Outcome) -> Bool? {
        if case .merged(let merged) = outcome { merged.mustBeWritten } else { nil }
    }

    @Test func `a thousand repetitions in one day are written once`() {
        phone.startToken("aa", at: 0)
        let writeCountBefore = phone.run.writeCount
        for minute in 1...1000 { phone.startToken("aa", at: minute) }
        #expect(phone.run.writeCount - writeCountBefore <= 1)
        let lastReceivedAt = phone.run.installation?.startTokens.first?.token?.at.received
        #expect(lastReceivedAt == Phone.at(1000), "the local state does not know the last report")
        #expect(phone.events == ["n:lst"])
    }

    @Test func `the first repetition of a day refreshes the row`() {
        phone.startToken("aa", at: 0)
        #expect(mustBeWritten(phone.startToken("aa", at: 24 * 60)) == true)
        #expect(phone.row("start:Match")?.registeredAt == Phone.at(24 * 60))
    }

    @Test func `a known report has no effect`() {
        phone.startToken("aa", at: 5)
        #expect(mustBeWritten(phone.startToken("aa", at: 5)) == nil)
        #expect(mustBeWritten(phone.startToken("bb", at: 6, happened: 4)) == nil)
        #expect(mustBeWritten(phone.startToken("aa", at: 7)) == false, "only its time is later")
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `the order of a list of running activities is irrelevant`() {
        phone.send(.reconcile, at: 0) { $0.runningActivities = ["A", "B"] }
        #expect(mustBeWritten(phone.send(.reconcile, at: 1) { $0.runningActivities = ["B", "A"] }) == false)
    }

    @Test func `every login is written, so that a late report about another user cannot win`() {
        phone.send(.profile, at: 0) { $0.user = "anna" }
        #expect(mustBeWritten(phone.send(.profile, at: 3, happened: 3) { $0.user = "anna" }) == true)
        #expect(mustBeWritten(phone.send(.profile, at: 4, happened: 2) { $0.user = "ben" }) == nil)
        #expect(phone.run.installation?.recipient == .user("anna"))
    }

    @Test func `an update token expires if no report names its activity`() {
        phone.updateToken("aa", of: "A", at: 0)
        phone.updateToken("bb", of: "B", at: 0)
        phone.updateToken("cc", of: "C", at: 0)
        phone.startToken("dd", at: 0)
        #expect(phone.row("update:A")?.expiresAt == Phone.at(24 * 60))
        phone.send(.heartbeat, at: 20 * 60) { $0.activity = "B" }
        phone.send(.reconcile, at: 21 * 60) { $0.runningActivities = ["C", "A", "B"] }
        phone.send(.reconcile, at: 22 * 60) { $0.runningActivities = ["B", "C"] }
        #expect(phone.row("update:B")?.expiresAt == Phone.at(46 * 60))
        phone.sweep(at: 24 * 60)
        #expect(phone.rows == ["i:i start:Match dd", "i:i update:B bb", "i:i update:C cc"])
        phone.sweep(at: 46 * 60)
        #expect(phone.rows == ["i:i start:Match dd"])
        phone.sweep(at: 30 * 24 * 60)
        #expect(phone.rows == ["i:i start:Match dd"], "start tokens do not expire")
        #expect(phone.run.installation?.activities.isEmpty == true)
    }

    @Test func `each activity type has its own token lifetime`() {
        phone.updateToken("aa", of: "A", type: "Order", at: 0)
        #expect(phone.row("update:A")?.expiresAt == Phone.at(60))
        phone.send(.heartbeat, at: 30) { $0.activity = "A" }
        #expect(phone.row("update:A")?.expiresAt == Phone.at(90))
        phone.sweep(at: 89)
        #expect(phone.rows == ["i:i update:A aa"])
        phone.sweep(at: 90)
        #expect(phone.rows == [])
    }

    @Test func `a changed token lifetime reaches existing rows`() {
        phone.updateToken("aa", of: "A", type: "Order", at: 0)
        #expect(phone.row("update:A")?.expiresAt == Phone.at(60))
        var app = History.app
        app.activityTypes[0].updateTokenMilliseconds = 3 * History.hour
        phone.run.merger = ReportMerger(app: app, seal: TokenSeal(keys: nil))
        phone.sweep(at: 10)
        #expect(phone.row("update:A")?.expiresAt == Phone.at(180))
        phone.sweep(at: 70)
        #expect(phone.rows == ["i:i update:A aa"])
        app.activityTypes[0].updateTokenMilliseconds = History.hour
        phone.run.merger = ReportMerger(app: app, seal: TokenSeal(keys: nil))
        phone.sweep(at: 71)
        #expect(phone.rows.isEmpty && phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `a late report brings an expired token back`() {
        phone.updateToken("aa", of: "A", type: "Order", at: 0)
        phone.sweep(at: 70)
        #expect(phone.rows == [])
        phone.send(.heartbeat, at: 80, happened: 50) { $0.activity = "A" }
        #expect(phone.rows == ["i:i update:A aa"])
    }

    @Test func `the next sweep has a known time, and an earlier sweep does nothing`() {
        phone.updateToken("aa", of: "A", at: 0)
        let due = phone.run.installation.flatMap { phone.run.merger.nextSweep(of: $0) }
        #expect(due == Phone.at(24 * 60))
        #expect(
            phone.run.installation.flatMap { phone.run.merger.sweep($0, now: Phone.at(24 * 60) - 1) } == nil)
    }

    @Test func `past the limit of start tokens, the token with the oldest report is forgotten`() {
        var app = History.app
        app.activityTypes = (0...Installation.startTokensMax).map { ActivityType(name: "T\($0)") }
        let phone = Phone(app: app)
        for index in 0...Installation.startTokensMax { phone.startToken("aa", type: "T\(index)", at: index) }
        #expect(phone.row("start:T0") == nil && phone.rows.count == Installation.startTokensMax)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `past the limit of activities, the activity with the oldest report is forgotten`() {
        for index in 0...Installation.activitiesMax {
            phone.updateToken("aa", of: "A\(index)", at: index)
        }
        #expect(phone.rows.count == Installation.activitiesMax && phone.row("update:A0") == nil)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test
    func `the limit of types that the app has not declared forgets no declared one, even if it is older`() {
        phone.startToken("aa", type: "Order", at: 90)
        phone.startToken("aa", type: nil, at: 91)
        for index in 0...Installation.undeclaredTypesMax {
            phone.startToken("aa", type: "T\(index)", at: 100 + index)
        }
        #expect(phone.row("start:T0") == nil && phone.row("start:T1") != nil)
        #expect(phone.row("start:Order") != nil && phone.row("start:") != nil)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `past the limit of former recipients, the rows of the oldest one are deleted`() {
        phone.startToken("aa", at: 100)
        for index in 0...Installation.formerRecipientsMax {
            phone.send(.profile, at: 200 + index) { $0.user = "u\(index)" }
        }
        #expect(phone.run.installation?.formerRecipients.count == Installation.formerRecipientsMax)
        // The first recipient was the installation itself.
        #expect(!phone.rows.contains { $0.hasPrefix("i:i ") })
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `the number of refused tokens is limited`() {
        phone.startToken("aa", at: 100)
        for index in 0...Installation.refusedTokensMax {
            phone.refusal(of: "\(1000 + index)", since: 300 + index, dispatched: 400, at: 400)
        }
        #expect(phone.run.installation?.refusedTokens.count == Installation.refusedTokensMax)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }
}
