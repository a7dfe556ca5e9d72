import Identifiers
import InstallationRecords
import Testing

@testable import Ingest
@testable import TokenSealing

/// Tests of the merge rules whose violation broke other systems, one by one. A `Phone` sends reports. Its `rows` are
/// the resulting registry, for example `i:i update:A bb`, and its `events` the resulting events, for example `n:lac A
/// ended`. Times are minutes, and `happened` is the time by the phone's clock.
@Suite struct MergeRuleTests {
    let phone = Phone()

    @Test func `a report without a token erases no token`() {
        phone.startToken("aa", at: 0)
        phone.updateToken("bb", of: "A", group: "m1", at: 0)
        phone.send(.heartbeat, at: 1)
        phone.send(.profile, at: 2) { $0.tags = ["vip"] }
        phone.state(.active, of: "A", at: 3)
        phone.send(.startToken, at: 4) { $0.attributesType = "Match" }
        #expect(phone.run.rejections == [.incomplete])
        #expect(phone.rows == ["i:i profile vip", "i:i start:Match aa", "i:i update:A bb"])
    }

    @Test func `a new token is unproven until APNs accepts it, and a repetition keeps the proof`() {
        phone.startToken("aa", at: 0)
        phone.updateToken("bb", of: "A", at: 0)
        #expect(phone.row("start:Match")?.isUnproven == true && phone.row("update:A")?.isUnproven == true)
        phone.proof(of: "aa", .start(type: "Match"), at: 1)
        phone.proof(of: "bb", .update(activity: "A"), at: 1)
        #expect(phone.row("start:Match")?.isUnproven == false && phone.row("update:A")?.isUnproven == false)
        phone.startToken("aa", at: 2)
        phone.updateToken("bb", of: "A", at: 3_000)
        #expect(phone.row("start:Match")?.isUnproven == false && phone.row("update:A")?.isUnproven == false)
        phone.startToken("cc", at: 3_001)
        #expect(phone.row("start:Match")?.isUnproven == true, "another token has its own proof")
        #expect(phone.run.keysThatDiffer == [])
    }

    @Test func `a proof of another token, entry or environment changes nothing`() {
        func isUnchanged(_ outcome: ReportMerger.Outcome) -> Bool {
            if case .unchanged = outcome { true } else { false }
        }
        #expect(isUnchanged(phone.proof(of: "aa", .start(type: "Match"), at: 0)))
        #expect(phone.run.installation == nil, "a proof creates no installation")
        phone.startToken("aa", at: 1)
        #expect(isUnchanged(phone.proof(of: "bb", .start(type: "Match"), at: 2)))
        #expect(isUnchanged(phone.proof(of: "aa", .start(type: nil), at: 2)))
        #expect(isUnchanged(phone.proof(of: "aa", .update(activity: "A"), at: 2)))
        #expect(isUnchanged(phone.proof(of: "aa", .profile, at: 2)))
        #expect(phone.row("start:Match")?.isUnproven == true)
        #expect(!isUnchanged(phone.proof(of: "aa", .start(type: "Match"), at: 3)))
        #expect(isUnchanged(phone.proof(of: "aa", .start(type: "Match"), at: 4)))
    }

    @Test func `a field that a report lacks keeps its value`() {
        phone.updateToken("bb", of: "A", group: "m1", at: 0)
        phone.send(.heartbeat, at: 1) {
            $0.os = "18.1"
            $0.frequentPushesEnabled = true
            $0.activitiesEnabled = false
        }
        phone.updateToken("cc", of: "A", type: nil, at: 2)
        let row = phone.row("update:A")
        #expect(row?.token == "cc" && row?.group == "m1" && row?.attributesType == "Match")
        #expect(row?.os == "18.1" && row?.frequentPushesEnabled == true && row?.activitiesEnabled == false)
    }

    @Test func `an ended activity does not remove the token of a newer one`() {
        phone.updateToken("aa", of: "A", group: "m1", at: 0)
        phone.updateToken("bb", of: "B", group: "m1", at: 10)
        phone.state(.ended, of: "A", at: 11)
        // The ended activity reports its token once more.
        phone.updateToken("aa", of: "A", group: "m1", at: 12)
        #expect(phone.rows == ["i:i update:B bb"])
        #expect(phone.events == ["n:lut A", "n:lut B", "n:lac A ended"])
    }

    @Test func `a dismissed activity does not come back, and its row names the group`() {
        phone.updateToken("aa", of: "A", group: "m1", at: 0)
        phone.state(.dismissed, of: "A", at: 1)
        phone.updateToken("bb", of: "A", group: "m1", at: 2)
        phone.state(.active, of: "A", at: 3)
        phone.send(.reconcile, at: 4) { $0.runningActivities = ["A"] }
        #expect(phone.rows == ["i:i update:A dismissed"])
        #expect(phone.row("update:A")?.group == "m1" && phone.row("update:A")?.dismissedAt == Phone.at(1))
        #expect(phone.events == ["n:lut A", "n:lac A dismissed"])
    }

    @Test func `a dismissal by the person outranks the end that comes with it`() {
        phone.updateToken("aa", of: "A", at: 0)
        phone.state(.ended, of: "A", at: 1)
        phone.state(.dismissed, of: "A", at: 2)
        phone.state(.ended, of: "A", at: 3)
        #expect(phone.rows == ["i:i update:A dismissed"])
        #expect(phone.events == ["n:lut A", "n:lac A ended"])
    }

    @Test func `a dismissal long after the end was done by the system and blocks nothing`() {
        phone.updateToken("aa", of: "A", group: "m1", at: 0)
        phone.state(.ended, of: "A", at: 1)
        phone.state(.dismissed, of: "A", at: 3)
        #expect(phone.rows.isEmpty && phone.events.last == "n:lac A ended")
        // The order of arrival does not matter.
        phone.updateToken("bb", of: "B", group: "m1", at: 4)
        phone.state(.dismissed, of: "B", at: 240, happened: 239)
        #expect(phone.rows == ["i:i update:B dismissed"])
        phone.state(.ended, of: "B", at: 241, happened: 10)
        #expect(phone.rows.isEmpty)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `tokens rotate from A to B and back to A`() {
        phone.startToken("aa", at: 0)
        phone.startToken("bb", at: 1)
        phone.startToken("aa", at: 2)
        #expect(phone.rows == ["i:i start:Match aa"])
        #expect(phone.events == ["n:lst", "n:lst", "n:lst"])
        // The result stays if B's report comes last, or if all reports come again.
        for (token, happened) in [("bb", 1), ("aa", 0), ("bb", 1), ("aa", 2)] {
            phone.startToken(token, at: 9, happened: happened)
        }
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `a late report of a rotation loses even to a repetition`() {
        phone.startToken("aa", at: 0, happened: 0)
        phone.startToken("aa", at: 20, happened: 20)
        phone.startToken("bb", at: 21, happened: 10)
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `a phone's clock is a hint between two days ago and now`() {
        phone.startToken("aa", at: 10_000, happened: 900_000)
        phone.startToken("bb", at: 10_001)
        #expect(phone.rows == ["i:i start:Match bb"])
        phone.startToken("cc", at: 10_001 + 48 * 60 + 1, happened: 0)
        #expect(phone.rows == ["i:i start:Match cc"])
    }

    @Test func `a refusal removes the token that it means and no newer one`() {
        phone.startToken("aa", at: 0)
        phone.startToken("aa", type: nil, at: 0)
        phone.startToken("bb", type: "Order", at: 0)
        phone.refusal(of: "aa", since: 5, dispatched: 6, at: 7)
        #expect(phone.rows == ["i:i start:Order bb"])
        phone.startToken("aa", at: 8)
        #expect(phone.rows == ["i:i start:Match aa", "i:i start:Order bb"])
    }

    @Test func `a refusal older than the token's last report removes nothing`() {
        phone.startToken("aa", at: 0)
        phone.startToken("aa", at: 10)
        phone.refusal(of: "aa", since: 5, dispatched: 11, at: 12)
        #expect(phone.rows == ["i:i start:Match aa"])
        phone.refusal(of: "cc", since: 100, dispatched: 100, at: 100)
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `a refusal from the future removes only tokens reported before its arrival`() {
        phone.startToken("aa", at: 0)
        phone.refusal(of: "aa", since: 1_000_000, dispatched: 1, at: 2)
        #expect(phone.rows.isEmpty)
        phone.startToken("aa", at: 3)
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `without a time from APNs the time of the push decides`() {
        phone.startToken("aa", at: 10)
        phone.refusal(of: "aa", since: nil, dispatched: 9, at: 12)
        #expect(phone.rows == ["i:i start:Match aa"])
        phone.refusal(of: "aa", since: nil, dispatched: 11, at: 13)
        #expect(phone.rows == [])
    }

    @Test func `tokens that a fast clock expired come back when the clock is right`() {
        phone.updateToken("bb", of: "A", group: "m1", at: 0)
        let rows = phone.rows
        #expect(rows == ["i:i update:A bb"])
        phone.sweep(at: 24 * 60)
        #expect(phone.rows.isEmpty)
        phone.sweep(at: 1)
        #expect(phone.rows == rows)
        phone.sweep(at: 2)
        #expect(phone.run.writeCount == 3, "and then there is nothing to do")
    }

    @Test func `a token moves with its installation from user to user`() {
        phone.startToken("aa", at: 0)
        phone.send(.profile, at: 1) { $0.user = "anna" }
        #expect(phone.rows == ["i:i start:Match aa>u:anna", "u:anna start:Match aa"])
        #expect(phone.row("start:Match")?.movedAt == Phone.at(1))
        phone.send(.profile, at: 2) { $0.user = "ben" }
        #expect(
            phone.rows == [
                "i:i start:Match aa>u:ben", "u:anna start:Match aa>u:ben", "u:ben start:Match aa",
            ])
        let anna = phone.row("start:Match", of: .user("anna"))
        #expect(anna?.arrivedAt == Phone.at(1) && anna?.movedAt == Phone.at(2))
        #expect(phone.row("start:Match", of: .installation("i"))?.arrivedAt == nil)
        phone.sweep(at: 24 * 60 + 1)
        #expect(phone.rows == ["u:anna start:Match aa>u:ben", "u:ben start:Match aa"])
        phone.sweep(at: 24 * 60 + 2)
        #expect(phone.rows == ["u:ben start:Match aa"])
    }

    @Test func `a user who logs out and in again keeps the tokens, and the other rows are marked as moved`() {
        phone.send(.startToken, at: 0) {
            $0.token = "aa"
            $0.user = "anna"
        }
        phone.send(.heartbeat, at: 1)
        #expect(phone.rows == ["u:anna start: aa"])
        phone.send(.profile, at: 2) { $0.isLoggedOut = true }
        #expect(phone.rows == ["i:i start: aa", "u:anna start: aa>i:i"])
        phone.send(.profile, at: 3) { $0.user = "anna" }
        #expect(phone.rows == ["i:i start: aa>u:anna", "u:anna start: aa"])
        // A late report about a login in between does not move it.
        phone.send(.profile, at: 4, happened: 2) { $0.user = "ben" }
        #expect(phone.rows == ["i:i start: aa>u:anna", "u:anna start: aa"])
    }

    @Test func `an installation without a start token has not moved`() {
        phone.send(.heartbeat, at: 0)
        phone.send(.startToken, at: 1) {
            $0.token = "aa"
            $0.user = "anna"
        }
        #expect(phone.rows == ["u:anna start: aa"])
        #expect(phone.row("start:")?.movedAt == nil)
    }

    @Test func `unregistering removes a type and its activities until the type is registered again`() {
        phone.startToken("aa", at: 0)
        phone.startToken("bb", type: "Order", at: 0)
        phone.updateToken("cc", of: "A", at: 0)
        phone.send(.unregister, at: 5) { $0.attributesType = "Match" }
        #expect(phone.rows == ["i:i start:Order bb"])
        #expect(phone.events.last == "n:lac A unregistered")
        phone.startToken("aa", at: 6, happened: 4)
        #expect(phone.rows == ["i:i start:Order bb"])
        phone.startToken("aa", at: 7)
        #expect(phone.rows == ["i:i start:Match aa", "i:i start:Order bb"])
    }

    @Test func `the list of running activities ends all others except those newer than the list`() {
        phone.updateToken("aa", of: "A", at: 0)
        phone.updateToken("bb", of: "B", at: 0)
        phone.updateToken("cc", of: "C", at: 9)
        phone.send(.reconcile, at: 10, happened: 5) { $0.runningActivities = ["B"] }
        #expect(phone.rows == ["i:i update:B bb", "i:i update:C cc"])
        #expect(phone.events.last == "n:lac A notRunning")
        // An activity that is reported late was not running either.
        phone.updateToken("dd", of: "D", at: 11, happened: 4)
        #expect(phone.rows == ["i:i update:B bb", "i:i update:C cc"])
        #expect(phone.events.last == "n:lut D")
    }

    @Test func `the same list again ends an activity that was reported in between`() {
        phone.send(.reconcile, at: 0) { $0.runningActivities = ["B"] }
        phone.updateToken("aa", of: "A", at: 1)
        #expect(phone.rows == ["i:i update:A aa"])
        phone.send(.reconcile, at: 2) { $0.runningActivities = ["B"] }
        #expect(phone.rows == [])
        // A sign of life, even in the same minute, shows that the activity still runs.
        phone.send(.heartbeat, at: 2) { $0.activity = "A" }
        #expect(phone.rows == ["i:i update:A aa"])
    }

    @Test func `an app lives in one environment at a time`() {
        phone.startToken("aa", at: 0)
        phone.send(.startToken, at: 1, environment: .sandbox) {
            $0.token = "bb"
            $0.attributesType = "Order"
        }
        #expect(phone.rows == ["i:i start:Order bb"])
        phone.send(.heartbeat, at: 2)
        #expect(phone.rows == ["i:i start:Match aa"])
    }

    @Test func `a start token without a type serves every type, beside typed tokens`() {
        phone.startToken("aa", type: nil, at: 0)
        phone.startToken("bb", at: 0)
        #expect(phone.rows == ["i:i start: aa", "i:i start:Match bb"])
        #expect(phone.row("start:")?.attributesType == nil)
    }

    @Test func `a backend's profile of a user needs no installation`() {
        var report = Report(app: "shop", profileOf: "anna")
        report.tags = ["vip"]
        phone.run.merge(report, at: Phone.at(0))
        let key = RegistryKey(app: "shop", recipient: .user("anna"), installation: nil, entry: .profile)
        #expect(phone.run.registry[key] == .profile(ProfileRow(tags: ["vip"], updatedAt: Phone.at(0))))
        #expect(phone.run.events.map(\.user) == ["anna"] && phone.run.installation == nil)
    }

    @Test func `a tap emits one event, with its schedule`() {
        phone.updateToken("aa", of: "A", group: "m1", at: 0)
        for minutes in [5, 6] {
            phone.send(.tap, at: minutes, happened: 4) {
                $0.activity = "A"
                $0.scheduleID = "s1"
                $0.scheduleName = "kick-off"
            }
        }
        let taps = phone.run.events.filter { $0.code == .tap }
        #expect(taps.count == 1 && taps[0].scheduleID == "s1" && taps[0].scheduleName == "kick-off")
        #expect(taps.first?.group == "m1" && taps.first?.attributesType == "Match")
        phone.send(.tap, at: 7) { $0.activity = "A" }
        #expect(phone.run.events.filter { $0.code == .tap }.count == 2)
    }

    @Test func `taps out of order count, and a repeated tap does not`() {
        func taps() -> Int { phone.run.events.filter { $0.code == .tap }.count }
        func tap(_ id: String?, happened: Int, at minutes: Int) {
            phone.send(.tap, at: minutes, happened: happened) {
                $0.activity = "A"
                $0.id = id
            }
        }
        tap("one", happened: 5, at: 10)
        tap("two", happened: 3, at: 11)
        tap(nil, happened: 4, at: 12)
        #expect(taps() == 3)
        for minutes in [13, 14] {
            tap("one", happened: 5, at: minutes)
            tap("two", happened: minutes, at: minutes)
            tap(nil, happened: 4, at: minutes)
        }
        #expect(taps() == 3)
        // Two people on two phones can tap at the same time. Two reports of one phone can have the same time
        // too.
        tap("three", happened: 4, at: 15)
        #expect(taps() == 4)
    }

    @Test func `beyond the limit of remembered taps no tap counts twice`() {
        let last = Installation.tapsMax + 4
        for number in 0...last {
            phone.send(.tap, at: number) {
                $0.activity = "A"
                $0.id = "tap-\(number)"
            }
        }
        for number in 0...last {
            phone.send(.tap, at: 60, happened: number) {
                $0.activity = "A"
                $0.id = "tap-\(number)"
            }
        }
        #expect(phone.run.events.count == last + 1)
        #expect(phone.run.installation?.taps.count == Installation.tapsMax)
        phone.send(.heartbeat, at: 11 * 24 * 60)
        phone.startToken("aa", at: 11 * 24 * 60)
        #expect(phone.run.installation?.taps.isEmpty == true)
    }

    @Test func `one token for several types has a row for each`() {
        for type in ["Match", "Order", nil] { phone.startToken("aa", type: type, at: 0) }
        #expect(phone.rows == ["i:i start: aa", "i:i start:Match aa", "i:i start:Order aa"])
        phone.send(.unregister, at: 1) { $0.attributesType = "Match" }
        #expect(phone.rows == ["i:i start: aa", "i:i start:Order aa"])
    }

    @Test func `a token for all types does not start an unregistered type`() {
        phone.startToken("aa", type: nil, at: 0)
        phone.send(.unregister, at: 1) { $0.attributesType = "Order" }
        phone.send(.unregister, at: 1) { $0.attributesType = "Match" }
        #expect(phone.row("start:")?.unregisteredTypes == ["Match", "Order"])
        // An app that reports its general token at each start has not asked for the type.
        phone.startToken("bb", type: nil, at: 2)
        #expect(phone.row("start:")?.unregisteredTypes == ["Match", "Order"])
        phone.startToken("cc", type: "Match", at: 3)
        #expect(phone.row("start:")?.unregisteredTypes == ["Order"])
        phone.startToken("dd", type: "Match", at: 20 * 24 * 60)
        #expect(phone.row("start:")?.unregisteredTypes == ["Order"], "time does not count as asking either")
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `a token that cannot be used still registers its type again`() {
        phone.startToken("aa", type: nil, at: 0)
        phone.send(.startToken, at: 1) {
            $0.token = "bb"
            $0.attributesType = "Order"
        }
        phone.send(.unregister, at: 2) { $0.attributesType = "Order" }
        phone.send(.startToken, at: 10, environment: .sandbox) { $0.token = "aa" }
        #expect(phone.row("start:")?.unregisteredTypes == ["Order"])
        // The same token as before, in the environment that the phone has left.
        phone.send(.startToken, at: 11, happened: 3) {
            $0.token = "bb"
            $0.attributesType = "Order"
        }
        #expect(phone.row("start:")?.unregisteredTypes == nil)
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `a token is sealed for its row, so it has one hash but another sealed text in each row`()
        throws
    {
        let key = String(repeating: "0", count: 64)
        let keys = try SealingKeys(lines: Array("hash \(key)\nkey 1 \(key)\n".utf8)[...])
        let seal = TokenSeal(keys: keys)
        let phone = Phone(seal: seal)
        phone.startToken("aa", at: 0)
        phone.startToken("aa", type: nil, at: 0)
        let (typed, any) = (phone.row("start:Match"), phone.row("start:"))
        #expect(typed?.tokenHash == any?.tokenHash && typed?.token != any?.token)
        #expect(try seal.open(typed?.token ?? "", app: "shop", entry: "start:Match").hex == Array("aa".utf8))
    }
}
