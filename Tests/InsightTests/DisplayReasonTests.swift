import Identifiers
import InstallationRecords
import JSON
import Jobs
import Payloads
import Sends
import Testing

@testable import Insight

/// One sentence for each cause that keeps a phone from its newest state.
///
/// The phone has one activity, `act-1`, in the group `match-1`, whose newest version is 43. A test changes the phone,
/// or names the pushes to it, and reads the reason of the diagnosis.
struct DisplayReasonTests {
    /// The time of the phone's report, in milliseconds since 1970.
    private static let day: Int64 = 1_795_000_000_000
    private var phone: Installation
    /// The row of the group.
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

    /// Returns a push of a version with its outcome. Its receipt was written `version` milliseconds after `day`.
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

    private func diagnosis(
        _ pushes: [TimelinePush], laterByMilliseconds: Int64 = 0
    ) -> PhoneDiagnosis {
        PhoneDiagnosis(
            installation: phone, scopes: [ScopeKey(app: "shop", group: "match-1"): row],
            pushes: pushes.sorted { $0.at > $1.at }, now: Self.day + laterByMilliseconds)
    }

    @Test func `a phone whose newest version was accepted shows it`() {
        let reason = diagnosis([push(41, .accepted), push(43, .accepted)]).reason
        #expect(reason.code == .showsNewest && reason.sentence.hasPrefix("it shows version 43, the newest"))
        #expect(reason.installation == "phone-1" && reason.activity == "act-1" && reason.group == "match-1")
    }

    @Test func `the reason of a phone that is behind names the outcome of each later version`() {
        let pushes = [
            push(41, .accepted), push(42, .superseded),
            push(43, .moved, reason: "TooManyRequests", status: 429),
        ]
        let reason = diagnosis(pushes).reason
        #expect(reason.code == .waitsForRetry)
        #expect(
            reason.sentence
                == "it shows version 41, the newest is 43: 42 was dropped before it left, because a newer version replaced it, 43 was answered 429 (TooManyRequests) at \(PhoneDiagnosis.time(Self.day + 43)) and will be pushed again"
        )
    }

    @Test func `a waiting job names the time of its next push`() {
        var waiting = push(43, .moved, reason: "TooManyRequests", status: 429)
        waiting.dueAt = Self.day + 120_043
        #expect(
            diagnosis([push(41, .accepted), waiting]).reason.sentence.hasSuffix(
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
        #expect(diagnosis([push(41, .accepted), push(43, outcome)]).reason.code == code)
        #expect(diagnosis([push(43, outcome)]).reason.sentence.hasPrefix("no version is known to be on it"))
    }

    @Test func `the first final outcome stands, and an earlier move to a retry does not replace it`() {
        let move = push(43, .moved, status: 429)
        var expiry = push(43, .expired)
        expiry.at = move.at + 10
        #expect(diagnosis([push(41, .accepted), expiry, move]).reason.code == .expired)
    }

    @Test func `a version that was not pushed is on its way, and later counts as behind`() {
        #expect(diagnosis([push(41, .accepted)], laterByMilliseconds: 1000).reason.code == .onItsWay)
        let reason = diagnosis([push(41, .accepted)], laterByMilliseconds: 600_000).reason
        #expect(reason.code == .newestNotPushed && reason.sentence.hasSuffix("43 has not been pushed to it"))
    }

    @Test func `a rejected token is reported with APNs' reason and time`() {
        var test = self
        test.phone.refusedTokens = [.init(hash: "bb22", at: Self.day + 50)]
        // The reason has the time of the receipt, and not the later time at which ingest noted the refusal.
        let reason = test.diagnosis([push(43, .rejected, reason: "Unregistered", status: 410)]).reason
        #expect(reason.code == .refused && reason.at == Self.day + 43)
        #expect(
            reason.sentence
                == "no push can reach it: APNs rejected its update token (Unregistered) at \(PhoneDiagnosis.time(Self.day + 43)), and the phone has not reported a new one since"
        )
        // Without a receipt, the reason has the time of ingest's note.
        test.phone.activities = []
        test.phone.refusedTokens = [.init(hash: "aa11", at: Self.day + 60)]
        let start = test.diagnosis([]).reason
        #expect(start.code == .refused && start.sentence.contains("APNs rejected its start token at"))
    }

    private static let later = ReportTime(event: day + 5, received: day + 5)

    @Test func `an activity that the person dismissed is reported with the time`() {
        var test = self
        test.phone.activities[0].closing = .init(dismissedAt: Self.later)
        #expect(
            test.diagnosis([]).reason.sentence
                == "the person dismissed it at \(PhoneDiagnosis.time(Self.day + 5))")
    }

    @Test func `an activity that ended is reported as ended`() {
        var test = self
        test.phone.activities[0].closing = .init(endedAt: Self.later)
        #expect(test.diagnosis([]).reason.code == .ended)
    }

    @Test func `an activity that is missing in the phone's list does not run`() {
        var test = self
        test.phone.runningActivities = Timestamped(["another"], at: Self.later)
        #expect(test.diagnosis([]).reason.code == .notRunning)
    }

    @Test func `an activity that the sweep has marked as expired had no reports`() {
        var test = self
        test.phone.activities[0].isExpired = true
        #expect(test.diagnosis([]).reason.code == .noReports)
    }

    @Test func `a phone whose person switched Live Activities off cannot be reached`() {
        var test = self
        test.phone.activitiesEnabled = Timestamped(false, at: Self.later)
        #expect(test.diagnosis([]).reason.code == .switchedOff)
    }

    @Test func `an expired token is named before the sweep marks it`() {
        let lifetime = phone.activities[0].tokenLifetimeMilliseconds
        let running = diagnosis([push(41, .accepted)], laterByMilliseconds: lifetime - 1).reason
        #expect(running.code == .newestNotPushed)
        let expired = diagnosis([push(41, .accepted)], laterByMilliseconds: lifetime).reason
        #expect(expired.code == .noReports && expired.sentence.contains("its token has expired since"))
    }

    @Test func `an activity that leaves the screen after an accepted END was not dismissed by the person`() {
        var test = self
        let later = ReportTime(event: Self.day + 600_000, received: Self.day + 600_000)
        test.phone.activities[0].closing = .init(dismissedAt: later)
        #expect(test.diagnosis([push(43, .accepted)]).reason.code == .dismissed)
        let ended = test.diagnosis([push(43, .accepted), push(44, .accepted, event: .end)]).reason
        #expect(ended.code == .ended && ended.at == later.event)
        #expect(
            ended.sentence
                == "it ended: APNs accepted its END at \(PhoneDiagnosis.time(Self.day + 44)), and it left the screen at \(PhoneDiagnosis.time(later.event))"
        )
        // An END that APNs did not accept has ended nothing.
        #expect(test.diagnosis([push(44, .expired, event: .end)]).reason.code == .dismissed)
    }

    @Test(arguments: [
        (ReceiptOutcome.superseded, "newer_version", "because a newer version replaced it"),
        (.superseded, "ended", "because the group ended"),
        (.superseded, "cancelled", "because its send was cancelled"),
        (.superseded, "erased", "because the user was erased"),
        (.superseded, "another", "was dropped before it left (another)"),
        (.rejected, "PayloadTooLarge", "was not sent, because Flotilla refused it (PayloadTooLarge)"),
        (.moved, "InvalidProviderToken", "could not leave at"),
        (.expired, "TooManyRequests", "before APNs accepted it (TooManyRequests)"),
    ])
    func `a decision of the sender has its reason and does not read as an answer of APNs`(
        outcome: ReceiptOutcome, reason: String, text: String
    ) {
        let sentence = diagnosis([push(41, .accepted), push(43, outcome, reason: reason)]).reason.sentence
        #expect(sentence.contains(text), "\(sentence)")
        for word in ["rejected by APNs", "answered", "accepted by APNs"] {
            #expect(!sentence.contains(word), "\(sentence)")
        }
    }

    @Test func `a push whose outcome should be known by now is not on its way`() {
        let late = 2 * PhoneDiagnosis.missingAfterMilliseconds
        for outcome in [ReceiptOutcome.intent, .released] {
            #expect(diagnosis([push(43, outcome)]).reason.code == .onItsWay)
            #expect(diagnosis([push(43, outcome)], laterByMilliseconds: late).reason.code == .unknownOutcome)
        }
        let moved = diagnosis([push(43, .moved, status: 429)], laterByMilliseconds: late).reason.sentence
        #expect(moved.hasSuffix("and no outcome is known since") && !moved.contains("will be pushed"))
    }

    @Test func `an activity with a token of another environment, or without one, cannot be reached`() {
        var test = self
        test.phone.activities[0].token?.environment = .sandbox
        #expect(test.diagnosis([]).reason.code == .otherEnvironment)
        test.phone.activities[0].token = nil
        #expect(test.diagnosis([]).reason.code == .noToken)
    }

    @Test func `a phone without activities and without a usable start token cannot be reached`() {
        var test = self
        test.phone.activities = []
        test.phone.startTokens[0].unregisteredAt = Self.later
        #expect(test.diagnosis([]).reason.code == .unregistered)
        test.phone.startTokens = []
        #expect(test.diagnosis([]).reason.code == .nothingReported)
        // Before iOS 17.2 the SDK has no start token to send.
        test.phone.os = Timestamped("16.7", at: ReportTime(event: Self.day, received: Self.day))
        #expect(test.diagnosis([]).reason.code == .systemTooOld)
    }

    @Test func `a started phone without a later report is explained by its start`() {
        var test = self
        test.phone.activities = []
        #expect(test.diagnosis([]).reason.code == .nothingSent)
        let started = test.diagnosis([push(40, .accepted, entry: "start:Match", event: .start)]).reason
        #expect(started.code == .started && started.sentence.contains("group match-1"))
        let lost = test.diagnosis([push(40, .unknown, entry: "start:Match", event: .start)]).reason
        #expect(lost.code == .unknownOutcome)
        test.phone.os = Timestamped("16.4", at: ReportTime(event: Self.day, received: Self.day))
        #expect(test.diagnosis([]).reason.code == .systemTooOld)
    }

    @Test func `the reason names the activity with the newest report if two are fine`() {
        var test = self
        var other = test.phone.activities[0]
        other.id = "act-2"
        test.phone.activities.append(other)
        let reason = test.diagnosis([push(43, .accepted), push(44, .accepted, entry: "update:act-2")]).reason
        #expect(reason.code == .showsNewest && reason.activity == "act-2")
    }

    @Test func `an activity without a group, or with a group that has no send, has that reason`() {
        var test = self
        test.row.newestState = nil
        #expect(test.diagnosis([]).reason.code == .nothingSent)
        test.phone.activities[0].group = nil
        #expect(test.diagnosis([]).reason.code == .unknownGroup)
    }
}
