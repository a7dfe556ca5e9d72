import LiveActivity
import Testing

@testable import FanOut

// What has become of a scope when sends were taken back.

private let key = GroupKey(app: "shop", group: "match")

private func takeBack(
    _ send: String, of recipient: Recipient? = nil, at seconds: Int64, in rows: inout Rows
) throws -> Plan {
    let cancel = Cancel(send: send, app: "shop", key: key, recipient: recipient, acceptedAt: dawn * 1000)
    return try planner.plan(.cancel(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
}

@Test(arguments: [Audience.group, .users(["ben"]), .users(["ada", "ben"])], [PushEvent.update, .end])
func `a timed send that comes behind the request to take it back goes to nobody`(
    _ audience: Audience, _ event: PushEvent
) throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    var timed = makeSend(event, to: audience, id: "timed")
    timed.scheduledAt = (dawn + 1) * 1000
    _ = try takeBack("timed", at: 10, in: &rows)
    let before = rows
    let plan = try planner.plan(timed, at: 11, in: &rows)
    #expect(plan.verdicts == [.cancelled])
    #expect(plan.parts.isEmpty && plan.note == nil && rows == before)
    timed.id = "another"
    #expect(try planner.plan(timed, at: 12, in: &rows).verdicts == [.planned])
}
