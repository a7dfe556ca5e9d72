import Identifiers
import JSON
import Payloads
import Sends
import Testing

@testable import FanOut

// The state of a scope after sends are cancelled.
//
// Seven updates in one second go more than five seconds ahead of the clock, so the scope holds the last one.

@Test(arguments: [Audience.group, .users(["ben"]), .users(["ada", "ben"])], [PushEvent.update, .end])
func `a timed send that comes after its cancel reaches no recipient`(
    _ audience: Audience, _ event: PushEvent
) throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    var timed = makeSend(event, to: audience, id: "timed")
    timed.scheduledAt = (dawn + 1) * 1000
    _ = try planner.cancel("timed", at: 10, in: &rows)
    let before = rows
    let plan = try planner.plan(timed, at: 11, in: &rows)
    #expect(plan.verdicts == [.cancelled])
    #expect(plan.expansions.isEmpty && plan.note == nil && rows == before)
    timed.id = "another"
    #expect(try planner.plan(timed, at: 12, in: &rows).verdicts == [.planned])
}

/// Plans updates, one every ten seconds. The updates "u1", "u2" and so on have 1, 2 and so on goals. The start "u0",
/// with 0 goals, goes before "u1".
private func planUpdates(
    _ count: Int, to audience: Audience = .group, from first: Int = 1, in rows: inout Rows
) throws {
    if first == 1 { _ = try planner.plan(makeSend(.start, to: .everyone, id: "u0"), at: 0, in: &rows) }
    for number in first..<first + count {
        let send = makeSend(.update, to: audience, id: "u\(number)", state: number)
        _ = try planner.plan(send, at: Int64(number) * 10, in: &rows)
    }
}

private let scopes: [(Audience, Recipient?)] = [(.group, nil), (.users(["ben"]), .user("ben"))]

@Test(arguments: scopes)
func `a state that was cancelled before is not restored`(_ audience: Audience, _ recipient: Recipient?) throws
{
    var rows = Rows()
    try planUpdates(3, to: audience, in: &rows)
    #expect(try planner.cancel("u2", of: recipient, at: 40, in: &rows).verdicts == [.stopping])
    let plan = try planner.cancel("u3", of: recipient, at: 41, in: &rows)
    #expect(plan.progress.map(\.send) == ["u3", "u3.undo"])
    #expect(plan.states == [goals(1)])
}

@Test(arguments: scopes)
func `a restored state is cancelled together with the send that it came from`(
    _ audience: Audience, _ recipient: Recipient?
) throws {
    var rows = Rows()
    try planUpdates(3, to: audience, in: &rows)
    #expect(try planner.cancel("u3", of: recipient, at: 40, in: &rows).states == [goals(2)])
    #expect(try planner.cancel("u2", of: recipient, at: 41, in: &rows).states == [goals(1)])
    #expect(
        try planner.cancel("u2", of: recipient, at: 42, in: &rows).verdicts == [.stopping],
        "the cancel is repeated"
    )
    let last = try planner.cancel("u1", of: recipient, at: 43, in: &rows)
    #expect(last.states == [goals(0)])
    #expect(last.expansions.first?.expansion.content.event == .update)
    #expect(
        try planner.cancel("u0", of: recipient, at: 44, in: &rows).verdicts == [.stopping],
        "no earlier state is left")
}

@Test func `a few earlier states are kept, and later sends build on them`() throws {
    var rows = Rows()
    try planUpdates(9, in: &rows)
    let row = try #require(rows.rows[match])
    #expect(row.replacedStates.map(\.send) == ["u8", "u7", "u6"])
    #expect(try planner.cancel("u9", at: 100, in: &rows).states == [goals(8)])
    try planUpdates(2, from: 11, in: &rows)
    #expect(try planner.cancel("u12", at: 130, in: &rows).states == [goals(11)])
    #expect(try planner.cancel("u11", at: 131, in: &rows).states == [goals(8)])
    #expect(try planner.cancel("u8", at: 132, in: &rows).states == [goals(7)])
    #expect(try planner.cancel("u7", at: 133, in: &rows).verdicts == [.stopping], "older states are not kept")
    // A cancelled state without a replacement does not return behind the next update either.
    _ = try planner.plan(makeSend(.update, id: "new", state: 50), at: 200, in: &rows)
    #expect(try planner.cancel("new", at: 201, in: &rows).verdicts == [.stopping])
}

@Test func `a cancelled state does not return after its cancel is forgotten`() throws {
    var rows = Rows()
    try planUpdates(3, in: &rows)
    _ = try planner.cancel("u2", at: 40, in: &rows)
    #expect(try planner.cancel("u3", at: 40 + 86_400, in: &rows).states == [goals(1)])
    #expect(rows.rows[match]?.cancelledSends.map(\.send) == ["u3"])
}

@Test func `one user does not get back a cancelled state of the group`() throws {
    var rows = Rows()
    try planUpdates(2, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "own", state: 9), at: 30, in: &rows)
    _ = try planner.cancel("u1", at: 31, in: &rows)
    #expect(try planner.cancel("own", of: .user("ben"), at: 32, in: &rows).states == [goals(2)])
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "two", state: 9), at: 40, in: &rows)
    #expect(try planner.cancel("u2", at: 41, in: &rows).states == [goals(0)])
}

@Test func `a cancelled send stops everywhere, and the state that it superseded returns`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "right", state: 1), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "wrong", state: 9), at: 20, in: &rows)
    let plan = try planner.cancel("wrong", at: 21, in: &rows)
    #expect(plan.verdicts == [.stopping, .planned])
    #expect(
        plan.requests.first
            == Plan.LaneRequest(request: .stop(StopInstruction(send: "wrong", key: match)), lanes: .every))
    #expect(plan.timestamps == [dawn + 21])
    #expect(plan.states == [goals(1)])
    #expect(plan.note?.cancelledSends == ["wrong"])
    #expect(plan.note?.updateVersion == version(at: 21))
}

@Test func `a send that the group holds is cancelled before it reaches a lane`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 22, in: &rows) }
    #expect(rows.rows[match]?.heldSend?.id == "u6")
    let cancel = try planner.cancel("u6", at: 23, in: &rows)
    #expect(cancel.verdicts == [.cancelled])
    #expect(cancel.stop == nil)
    #expect(rows.rows[match]?.heldSend == nil)
}

@Test func `a cancel for one user restores the state of only that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    let wrong = try planner.plan(
        makeSend(.update, to: .users(["ben"]), id: "wrong", state: 9), at: 10, in: &rows)
    guard case .planner(let part) = wrong.progress[0].part else { throw Missing() }
    #expect(part.recipient == .user("ben"))
    let plan = try planner.cancel("wrong", of: .user("ben"), at: 11, in: &rows)
    #expect(plan.verdicts == [.stopping, .planned])
    #expect(plan.recipients.map(\.recipient) == [.user("ben")])
    #expect(plan.timestamps == [dawn + 11])
    #expect(plan.states == [goals(1)])
    #expect(try planner.cancel("wrong", of: .user("ben"), at: 12, in: &rows).expansions.isEmpty)
}

@Test func `a send that one user's scope holds is cancelled before it reaches a lane`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for ahead in 0...6 {
        _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "u\(ahead)"), at: 12, in: &rows)
    }
    let cancel = try planner.cancel("u6", of: .user("ben"), at: 12, in: &rows)
    #expect(cancel.verdicts == [.cancelled])
    #expect(cancel.stop == nil)
    #expect(try planner.release(match.narrowed(to: .user("ben")), now: dawn + 99, in: &rows) == Plan())
}

@Test func `a cancel for one user restores nothing if the group has a newer state`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "late"), at: 30, in: &rows)
    _ = try planner.plan(makeSend(.update), at: 31, in: &rows)
    #expect(try planner.cancel("late", of: .user("ben"), at: 32, in: &rows).expansions.isEmpty)
}

@Test func `every note of a group names the sends that were cancelled within a day`() throws {
    var rows = Rows()
    #expect(try planner.cancel("a", at: 0, in: &rows).note?.cancelledSends == ["a"])
    #expect(try planner.cancel("b", at: 50_000, in: &rows).note?.cancelledSends == ["a", "b"])
    #expect(try planner.plan(makeSend(.update), at: 60_000, in: &rows).note?.cancelledSends == ["a", "b"])
    #expect(try planner.plan(makeSend(.update), at: 90_000, in: &rows).note?.cancelledSends == ["b"])
}
