import JSON
import LiveActivity
import Testing

@testable import Insight

/// One sentence for each thing that keeps a phone from its newest state.
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

    @Test func `a phone that took the newest version shows it`() {
        let why = facts([push(41, .accepted), push(43, .accepted)]).why
        #expect(why.code == .showsNewest && why.sentence.hasPrefix("shows version 43, the newest"))
        #expect(why.installation == "phone-1" && why.activity == "act-1" && why.group == "match-1")
    }

    @Test func `a phone that is behind says what became of each version since`() {
        let pushes = [
            push(41, .accepted), push(42, .superseded),
            push(43, .moved, reason: "TooManyRequests", status: 429),
        ]
        let why = facts(pushes).why
        #expect(why.code == .waitsAgain)
        #expect(
            why.sentence
                == "shows version 41, the newest is 43: 42 was superseded by a newer one, 43 was answered 429 (TooManyRequests) at \(PhoneFacts.time(Self.day + 43)) and goes again"
        )
    }

    @Test func `a job that waits says when it goes again`() {
        var waiting = push(43, .moved, reason: "TooManyRequests", status: 429)
        waiting.dueAt = Self.day + 120_043
        #expect(
            facts([push(41, .accepted), waiting]).why.sentence.hasSuffix(
                "and goes again at \(PhoneFacts.time(Self.day + 120_043))"))
    }

    @Test(arguments: [
        (ReceiptOutcome.superseded, Why.Code.superseded), (.expired, .expired), (.rejected, .refused),
        (.unknown, .unknownOutcome), (.moved, .waitsAgain), (.intent, .onItsWay),
    ])
    func `what became of the newest version is the word`(outcome: ReceiptOutcome, code: Why.Code) {
        #expect(facts([push(41, .accepted), push(43, outcome)]).why.code == code)
        #expect(facts([push(43, outcome)]).why.sentence.hasPrefix("no version was accepted for it"))
    }

    @Test func `a first last word stands, and a mark does not outlive it`() {
        let mark = push(43, .moved, status: 429)
        var last = push(43, .expired)
        last.at = mark.at + 10
        #expect(facts([push(41, .accepted), last, mark]).why.code == .expired)
    }

    @Test func `what was not pushed yet is on its way, and after a while it is not`() {
        #expect(facts([push(41, .accepted)], later: 1000).why.code == .onItsWay)
        let why = facts([push(41, .accepted)], later: 600_000).why
        #expect(why.code == .behind && why.sentence.hasSuffix("43 has not been pushed to it"))
    }

    @Test func `a token that APNs refused is told with its reason and time`() {
        var phone = self
        phone.phone.refused = [.init(hash: "bb22", at: Self.day + 50)]
        let why = phone.facts([push(43, .rejected, reason: "Unregistered", status: 410)]).why
        #expect(why.code == .refused && why.at == Self.day + 43)
        #expect(
            why.sentence
                == "nothing can reach it: its update token was refused by APNs (Unregistered) at \(PhoneFacts.time(Self.day + 43)), and the phone has not reported a new one since"
        )
        phone.phone.activities = []
        phone.phone.refused = [.init(hash: "aa11", at: Self.day + 60)]
        let start = phone.facts([]).why
        #expect(start.code == .refused && start.sentence.contains("its start token was refused by APNs at"))
    }

    @Test func `what the person or the app has done is said, and when`() {
        var phone = self
        let time = ReportTime(event: Self.day + 5, received: Self.day + 5)
        phone.phone.activities[0].closing = .init(dismissedAt: time)
        #expect(
            phone.facts([]).why.sentence == "dismissed by its owner at \(PhoneFacts.time(Self.day + 5))")
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

    @Test func `a phone without tokens, or with those of another environment, cannot be reached`() {
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
        // Without iOS 17.2 there is no start token that the SDK could send.
        phone.phone.os = Said("16.7", at: ReportTime(event: Self.day, received: Self.day))
        #expect(phone.facts([]).why.code == .system)
    }

    @Test func `a phone that was started and said nothing since is told by its start`() {
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

    @Test func `of two activities that are well, the one with the newest word is told`() {
        var phone = self
        var other = phone.phone.activities[0]
        other.id = "act-2"
        phone.phone.activities.append(other)
        let why = phone.facts([push(43, .accepted), push(44, .accepted, entry: "update:act-2")]).why
        #expect(why.code == .showsNewest && why.activity == "act-2")
    }

    @Test func `an activity without a group, or of one that nobody has sent to, says so`() {
        var phone = self
        phone.row.newest = nil
        #expect(phone.facts([]).why.code == .nothingSent)
        phone.phone.activities[0].group = nil
        #expect(phone.facts([]).why.code == .unknownGroup)
    }
}
