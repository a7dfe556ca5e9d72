import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Testing

@testable import Insight

/// The push that an activity showed when a person tapped it. The phone has the activity `act-1` of the group `match-1`.
struct TappedActivityTests {
    private var phone = Installation(app: "shop", subject: .installation("phone-1"))

    init() {
        let time = ReportTime(event: 1, received: 1)
        var activity = Installation.Activity(id: "act-1")
        activity.group = Timestamped("match-1", at: time)
        activity.type = Timestamped("Match", at: time)
        phone.activities = [activity]
    }

    private func push(
        _ version: Int64, _ outcome: ReceiptOutcome = .accepted, entry: String = "update:act-1",
        event: PushEvent = .update, group: String = "match-1"
    ) -> TimelinePush {
        var receipt = RandomDay(seed: 1).receipt
        (receipt.send, receipt.version, receipt.event, receipt.group) = (
            "s-\(version)", version, event, group
        )
        receipt.writtenAt = 1000 + version
        return TimelinePush(
            receipt: receipt, part: Receipt.Part(outcome, lines: LineSet(all: 1)),
            to: .init(installation: "phone-1", entry: entry, recipient: "i:phone-1"))
    }

    private func send(behind pushes: [TimelinePush], reportedGroup: String? = nil) -> String? {
        TappedActivity(id: "act-1", reportedGroup: reportedGroup, phone: phone).newestPush(among: pushes)?
            .send
    }

    private func start(_ version: Int64, group: String = "match-1", type: String = "Match") -> TimelinePush {
        push(version, entry: "start:\(type)", event: .start, group: group)
    }

    @Test func `the newest push that can be shown is behind a tap`() {
        #expect(send(behind: [push(42), push(43), push(41)]) == "s-43")
        #expect(send(behind: [push(42), push(43, .superseded), push(44, .rejected)]) == "s-42")
        #expect(send(behind: [push(42), push(43, .unknown)]) == "s-43")
        #expect(send(behind: [push(43, entry: "update:act-2")]) == nil)
    }

    @Test func `a start is behind a tap until the activity is updated`() {
        #expect(send(behind: [start(40), start(41, group: "match-2")]) == "s-40")
        #expect(send(behind: [start(40), push(41)]) == "s-41")
        // If the phone has not reported the group, the activity's type decides, or the group that the tap names.
        var test = self
        test.phone.activities[0].group = nil
        #expect(test.send(behind: [start(40, type: "Order"), start(39)]) == "s-39")
        #expect(
            test.send(behind: [start(40), start(41, group: "match-2")], reportedGroup: "match-1") == "s-40")
    }

    @Test func `an erased push is behind no tap`() {
        var test = self
        test.phone.erasedUpTo = ReportTime(event: 1050, received: 1050)
        #expect(test.send(behind: [push(43)]) == nil)
        #expect(test.send(behind: [push(43), push(60)]) == "s-60")
    }
}
