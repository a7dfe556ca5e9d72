import JSON
import LiveActivity
import Testing

@testable import Insight

/// One sentence for each cause that keeps a phone from its newest state.
struct WhyTests {
    private static let day: Int64 = 1_795_000_000_000
    private var phone: Installation
    private var row = GroupRow()

    init() {
        phone = Installation(app: "shop", subject: .installation("phone-1"))
        let time = ReportTime(event: Self.day, received: Self.day)
        phone.environment = Said(.production, at: time)
        phone.starts = [.init(type: "Match", token: Self.token("aa11", at: time))]
        var activity = Installation.Activity(id: "act-1")
        activity.group = Said("match-1", at: time)
        activity.token = Self.token("bb22", at: time)
        activity.heardAt = time
        phone.activities = [activity]
        row.version = 43
        row.newest = ScopeState(
            send: "s-43", version: 43, content: PushContent(.update), priority: 10, deadline: 0,
            expiration: 0,
            acceptedAt: Self.day)
    }

    private static func token(_ hash: String, at time: ReportTime) -> Installation.Token {
        .init(hash: hash, sealed: InstallationForm.redacted, environment: .production, at: time)
    }

    private func push(
        _ version: Int64, _ outcome: ReceiptOutcome, reason: String? = nil, status: Int? = nil,
        entry: String = "update:act-1", event: PushEvent = .update
    ) -> PushSeen {
        var receipt = RandomDay(seed: 1).receipt
        receipt.app = "shop"
        (receipt.version, receipt.event, receipt.group) = (version, event, "match-1")
        receipt.at = Self.day + version
        let part = Receipt.Part(outcome, LineSet(all: 1), status: status, reason: reason)
        return PushSeen(
            receipt, part, to: .init(installation: "phone-1", entry: entry, recipient: "i:phone-1"))
    }

    private func facts(_ pushes: [PushSeen], later: Int64 = 0) -> PhoneFacts {
        PhoneFacts(
            installation: phone, scopes: [GroupKey(app: "shop", group: "match-1"): row],
            pushes: pushes.sorted { $0.at > $1.at }, now: Self.day + later)
    }

    @Test func `a phone whose newest version was accepted shows it`() {
        let why = facts([push(41, .accepted), push(43, .accepted)]).why
        #expect(why.code == .showsNewest && why.sentence.hasPrefix("it shows version 43, the newest"))
        #expect(why.installation == "phone-1" && why.activity == "act-1" && why.group == "match-1")
    }

    @Test func `the reason of a phone that is behind names the outcome of each later version`() {
        let pushes = [
            push(41, .accepted), push(42, .superseded),
            push(43, .moved, reason: "TooManyRequests", status: 429),
        ]
        let why = facts(pushes).why
        #expect(why.code == .waitsAgain)
        #expect(
            why.sentence
                == "it shows version 41, the newest is 43: 42 was superseded by a newer one, 43 was answered 429 (TooManyRequests) at \(PhoneFacts.time(Self.day + 43)) and will be pushed again"
        )
    }

    @Test func `a waiting job names the time of its next push`() {
        var waiting = push(43, .moved, reason: "TooManyRequests", status: 429)
        waiting.dueAt = Self.day + 120_043
        #expect(
            facts([push(41, .accepted), waiting]).why.sentence.hasSuffix(
                "and will be pushed again at \(PhoneFacts.time(Self.day + 120_043))"))
    }

    @Test(arguments: [
        (ReceiptOutcome.superseded, Why.Code.superseded), (.expired, .expired), (.rejected, .refused),
        (.unknown, .unknownOutcome), (.moved, .waitsAgain), (.intent, .onItsWay),
    ])
    func `the outcome of the newest version decides the code`(outcome: ReceiptOutcome, code: Why.Code) {
        #expect(facts([push(41, .accepted), push(43, outcome)]).why.code == code)
        #expect(facts([push(43, outcome)]).why.sentence.hasPrefix("APNs accepted no version for it"))
    }

    @Test func `the first final outcome stands, and an earlier mark does not replace it`() {
        let mark = push(43, .moved, status: 429)
        var last = push(43, .expired)
        last.at = mark.at + 10
        #expect(facts([push(41, .accepted), last, mark]).why.code == .expired)
    }

    @Test func `a version that was not pushed is on its way, and later counts as behind`() {
        #expect(facts([push(41, .accepted)], later: 1000).why.code == .onItsWay)
        let why = facts([push(41, .accepted)], later: 600_000).why
        #expect(why.code == .behind && why.sentence.hasSuffix("43 has not been pushed to it"))
    }

    @Test func `a rejected token is reported with APNs' reason and time`() {
        var phone = self
        phone.phone.refused = [.init(hash: "bb22", at: Self.day + 50)]
        let why = phone.facts([push(43, .rejected, reason: "Unregistered", status: 410)]).why
        #expect(why.code == .refused && why.at == Self.day + 43)
        #expect(
            why.sentence
                == "no push can reach it: APNs rejected its update token (Unregistered) at \(PhoneFacts.time(Self.day + 43)), and the phone has not reported a new one since"
        )
        phone.phone.activities = []
        phone.phone.refused = [.init(hash: "aa11", at: Self.day + 60)]
        let start = phone.facts([]).why
        #expect(start.code == .refused && start.sentence.contains("APNs rejected its start token at"))
    }

    @Test func `an action of the person or the app is reported with its time`() {
        var phone = self
        let time = ReportTime(event: Self.day + 5, received: Self.day + 5)
        phone.phone.activities[0].closing = .init(dismissedAt: time)
        #expect(
            phone.facts([]).why.sentence == "the person dismissed it at \(PhoneFacts.time(Self.day + 5))")
        phone.phone.activities[0].closing = .init(endedAt: time)
        #expect(phone.facts([]).why.code == .ended)
        phone.phone.activities[0].closing = nil
        phone.phone.running = Said(["another"], at: time)
        #expect(phone.facts([]).why.code == .notRunning)
        phone.phone.running = nil
        phone.phone.activities[0].isExpired = true
        #expect(phone.facts([]).why.code == .silent)
        phone.phone.activities[0].isExpired = false
        phone.phone.activitiesEnabled = Said(false, at: time)
        #expect(phone.facts([]).why.code == .switchedOff)
    }

    @Test func `a phone without usable tokens cannot be reached`() {
        var phone = self
        phone.phone.activities[0].token?.environment = .sandbox
        #expect(phone.facts([]).why.code == .otherEnvironment)
        phone.phone.activities[0].token = nil
        #expect(phone.facts([]).why.code == .noToken)
        phone.phone.activities = []
        phone.phone.starts[0].unregisteredAt = ReportTime(event: Self.day + 9, received: Self.day + 9)
        #expect(phone.facts([]).why.code == .unregistered)
        phone.phone.starts = []
        #expect(phone.facts([]).why.code == .nothingReported)
        // Before iOS 17.2 the SDK has no start token to send.
        phone.phone.os = Said("16.7", at: ReportTime(event: Self.day, received: Self.day))
        #expect(phone.facts([]).why.code == .system)
    }

    @Test func `a started phone without a later report is explained by its start`() {
        var phone = self
        phone.phone.activities = []
        #expect(phone.facts([]).why.code == .nothingSent)
        let started = phone.facts([push(40, .accepted, entry: "start:Match", event: .start)]).why
        #expect(started.code == .started && started.sentence.contains("group match-1"))
        let lost = phone.facts([push(40, .unknown, entry: "start:Match", event: .start)]).why
        #expect(lost.code == .unknownOutcome)
        phone.phone.os = Said("16.4", at: ReportTime(event: Self.day, received: Self.day))
        #expect(phone.facts([]).why.code == .system)
    }

    @Test func `the reason names the activity with the newest report if two are fine`() {
        var phone = self
        var other = phone.phone.activities[0]
        other.id = "act-2"
        phone.phone.activities.append(other)
        let why = phone.facts([push(43, .accepted), push(44, .accepted, entry: "update:act-2")]).why
        #expect(why.code == .showsNewest && why.activity == "act-2")
    }

    @Test func `an activity without a group, or with a group that has no send, has that reason`() {
        var phone = self
        phone.row.newest = nil
        #expect(phone.facts([]).why.code == .nothingSent)
        phone.phone.activities[0].group = nil
        #expect(phone.facts([]).why.code == .unknownGroup)
    }
}
