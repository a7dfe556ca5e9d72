import Identifiers
import InstallationRecords
import JSON
import Jobs
import Payloads
import Sends
import Testing

@testable import Insight

/// One sentence for each cause that keeps a phone from its newest state.
struct DisplayReasonTests {
    private static let day: Int64 = 1_795_000_000_000
    private var phone: Installation
    private var row = GroupRow()

    init() {
        phone = Installation(app: "shop", subject: .installation("phone-1"))
        let time = ReportTime(event: Self.day, received: Self.day)
        phone.environment = Timestamped(.production, at: time)
        phone.startTokens = [.init(type: "Match", token: Self.token("aa11", at: time))]
        var activity = Installation.Activity(id: "act-1")
        activity.group = Timestamped("match-1", at: time)
        activity.token = Self.token("bb22", at: time)
        activity.lastSeenAt = time
        phone.activities = [activity]
        row.version = 43
        row.newestState = ScopeState(
            send: "s-43", version: 43, content: PushContent(.update), priority: .immediate, deadline: 0,
            expiration: 0,
            acceptedAt: Self.day)
    }

    private static func token(_ hash: String, at time: ReportTime) -> Installation.Token {
        .init(hash: hash, sealed: InstallationRowMapping.redactedToken, environment: .production, at: time)
    }

    private func push(
        _ version: Int64, _ outcome: ReceiptOutcome, reason: String? = nil, status: Int? = nil,
        entry: String = "update:act-1", event: PushEvent = .update
    ) -> TimelinePush {
        var receipt = RandomDay(seed: 1).receipt
        receipt.app = "shop"
        (receipt.version, receipt.event, receipt.group) = (version, event, "match-1")
        receipt.writtenAt = Self.day + version
        let part = Receipt.Part(outcome, lines: LineSet(all: 1), status: status, reason: reason)
        return TimelinePush(
            receipt: receipt, part: part,
            to: .init(installation: "phone-1", entry: entry, recipient: "i:phone-1"))
    }

    private func facts(_ pushes: [TimelinePush], later: Int64 = 0) -> PhoneDiagnosis {
        PhoneDiagnosis(
            installation: phone, scopes: [ScopeKey(app: "shop", group: "match-1"): row],
            pushes: pushes.sorted { $0.at > $1.at }, now: Self.day + later)
    }

    @Test func `a phone whose newest version was accepted shows it`() {
        let why = facts([push(41, .accepted), push(43, .accepted)]).reason
        #expect(why.code == .showsNewest && why.sentence.hasPrefix("it shows version 43, the newest"))
        #expect(why.installation == "phone-1" && why.activity == "act-1" && why.group == "match-1")
    }

    @Test func `the reason of a phone that is behind names the outcome of each later version`() {
        let pushes = [
            push(41, .accepted), push(42, .superseded),
            push(43, .moved, reason: "TooManyRequests", status: 429),
        ]
        let why = facts(pushes).reason
        #expect(why.code == .waitsForRetry)
        #expect(
            why.sentence
                == "it shows version 41, the newest is 43: 42 was superseded by a newer one, 43 was answered 429 (TooManyRequests) at \(PhoneDiagnosis.time(Self.day + 43)) and will be pushed again"
        )
    }

    @Test func `a waiting job names the time of its next push`() {
        var waiting = push(43, .moved, reason: "TooManyRequests", status: 429)
        waiting.dueAt = Self.day + 120_043
        #expect(
            facts([push(41, .accepted), waiting]).reason.sentence.hasSuffix(
                "and will be pushed again at \(PhoneDiagnosis.time(Self.day + 120_043))"))
    }

    @Test(arguments: [
        (ReceiptOutcome.superseded, DisplayReason.Code.superseded), (.expired, .expired),
        (.rejected, .refused),
        (.unknown, .unknownOutcome), (.moved, .waitsForRetry), (.intent, .onItsWay),
    ])
    func `the outcome of the newest version decides the code`(
        outcome: ReceiptOutcome, code: DisplayReason.Code
    ) {
        #expect(facts([push(41, .accepted), push(43, outcome)]).reason.code == code)
        #expect(facts([push(43, outcome)]).reason.sentence.hasPrefix("APNs accepted no version for it"))
    }

    @Test func `the first final outcome stands, and an earlier mark does not replace it`() {
        let mark = push(43, .moved, status: 429)
        var last = push(43, .expired)
        last.at = mark.at + 10
        #expect(facts([push(41, .accepted), last, mark]).reason.code == .expired)
    }

    @Test func `a version that was not pushed is on its way, and later counts as behind`() {
        #expect(facts([push(41, .accepted)], later: 1000).reason.code == .onItsWay)
        let why = facts([push(41, .accepted)], later: 600_000).reason
        #expect(why.code == .newestNotPushed && why.sentence.hasSuffix("43 has not been pushed to it"))
    }

    @Test func `a rejected token is reported with APNs' reason and time`() {
        var phone = self
        phone.phone.refusedTokens = [.init(hash: "bb22", at: Self.day + 50)]
        let why = phone.facts([push(43, .rejected, reason: "Unregistered", status: 410)]).reason
        #expect(why.code == .refused && why.at == Self.day + 43)
        #expect(
            why.sentence
                == "no push can reach it: APNs rejected its update token (Unregistered) at \(PhoneDiagnosis.time(Self.day + 43)), and the phone has not reported a new one since"
        )
        phone.phone.activities = []
        phone.phone.refusedTokens = [.init(hash: "aa11", at: Self.day + 60)]
        let start = phone.facts([]).reason
        #expect(start.code == .refused && start.sentence.contains("APNs rejected its start token at"))
    }

    @Test func `an action of the person or the app is reported with its time`() {
        var phone = self
        let time = ReportTime(event: Self.day + 5, received: Self.day + 5)
        phone.phone.activities[0].closing = .init(dismissedAt: time)
        #expect(
            phone.facts([]).reason.sentence
                == "the person dismissed it at \(PhoneDiagnosis.time(Self.day + 5))")
        phone.phone.activities[0].closing = .init(endedAt: time)
        #expect(phone.facts([]).reason.code == .ended)
        phone.phone.activities[0].closing = nil
        phone.phone.runningActivities = Timestamped(["another"], at: time)
        #expect(phone.facts([]).reason.code == .notRunning)
        phone.phone.runningActivities = nil
        phone.phone.activities[0].isExpired = true
        #expect(phone.facts([]).reason.code == .noReports)
        phone.phone.activities[0].isExpired = false
        phone.phone.activitiesEnabled = Timestamped(false, at: time)
        #expect(phone.facts([]).reason.code == .switchedOff)
    }

    @Test func `a phone without usable tokens cannot be reached`() {
        var phone = self
        phone.phone.activities[0].token?.environment = .sandbox
        #expect(phone.facts([]).reason.code == .otherEnvironment)
        phone.phone.activities[0].token = nil
        #expect(phone.facts([]).reason.code == .noToken)
        phone.phone.activities = []
        phone.phone.startTokens[0].unregisteredAt = ReportTime(event: Self.day + 9, received: Self.day + 9)
        #expect(phone.facts([]).reason.code == .unregistered)
        phone.phone.startTokens = []
        #expect(phone.facts([]).reason.code == .nothingReported)
        // Before iOS 17.2 the SDK has no start token to send.
        phone.phone.os = Timestamped("16.7", at: ReportTime(event: Self.day, received: Self.day))
        #expect(phone.facts([]).reason.code == .systemTooOld)
    }

    @Test func `a started phone without a later report is explained by its start`() {
        var phone = self
        phone.phone.activities = []
        #expect(phone.facts([]).reason.code == .nothingSent)
        let started = phone.facts([push(40, .accepted, entry: "start:Match", event: .start)]).reason
        #expect(started.code == .started && started.sentence.contains("group match-1"))
        let lost = phone.facts([push(40, .unknown, entry: "start:Match", event: .start)]).reason
        #expect(lost.code == .unknownOutcome)
        phone.phone.os = Timestamped("16.4", at: ReportTime(event: Self.day, received: Self.day))
        #expect(phone.facts([]).reason.code == .systemTooOld)
    }

    @Test func `the reason names the activity with the newest report if two are fine`() {
        var phone = self
        var other = phone.phone.activities[0]
        other.id = "act-2"
        phone.phone.activities.append(other)
        let why = phone.facts([push(43, .accepted), push(44, .accepted, entry: "update:act-2")]).reason
        #expect(why.code == .showsNewest && why.activity == "act-2")
    }

    @Test func `an activity without a group, or with a group that has no send, has that reason`() {
        var phone = self
        phone.row.newestState = nil
        #expect(phone.facts([]).reason.code == .nothingSent)
        phone.phone.activities[0].group = nil
        #expect(phone.facts([]).reason.code == .unknownGroup)
    }
}
