import CatalogRecords
import ContentSchemas
import Identifiers
import JSON
import Payloads
import RecordFormat
import Schedules
import Sends
import Testing

@testable import FanOut

// Updates that wait until their timestamps are no longer ahead of the clock, and the sends that replace or
// release them.
//
// Each send takes the next second as its timestamp. So six sends in one second use up the five seconds by which
// timestamps may be ahead, and the seventh is held.

@Test func `timestamps run at most five seconds ahead, and beyond that only the newest update waits`() throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for ahead in 1...5 {
        #expect(
            try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows).timestamps == [
                dawn + Int64(ahead)
            ])
    }
    let held = try planner.plan(makeSend(.update, id: "first", state: 6), at: 0, in: &rows)
    #expect(held.verdicts == [.held])
    #expect(held.expansions.isEmpty)
    #expect(held.heldSend == Plan.HeldSend(key: match, at: dawn + 1))
    let newer = try planner.plan(makeSend(.update, id: "second", state: 7), at: 0, in: &rows)
    #expect(newer.verdicts == [.superseded, .held])
    #expect(newer.progress.map(\.send) == ["first", "second"])
    let early = try planner.release(match, now: dawn, in: &rows)
    #expect(early.verdicts == [.held])
    let released = try planner.release(match, now: dawn + 1, in: &rows)
    #expect(released.verdicts == [.planned])
    #expect(released.timestamps == [dawn + 6])
    #expect(released.states == [goals(7)])
    #expect(try planner.release(match, now: dawn + 2, in: &rows) == Plan())
}

@Test func `after the cluster's clock was an hour ahead, no send waits for it`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 3600, in: &rows)
    for number in 1...9 {
        let plan = try planner.plan(makeSend(.update, state: number), at: 0, in: &rows)
        #expect(plan.timestamps == [dawn + 3600 + Int64(number)])
    }
    #expect(
        try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).timestamps == [dawn + 3610]
    )
}

@Test func `an END never waits and supersedes a held update`() throws {
    var rows = Rows()
    for ahead in 0...5 { _ = try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "held"), at: 0, in: &rows)
    let end = try planner.plan(makeSend(.end), at: 0, in: &rows)
    #expect(end.verdicts == [.superseded, .planned])
    #expect(end.timestamps == [dawn + 6])
    #expect(try planner.release(match, now: dawn + 9, in: &rows) == Plan())
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.timestamps == [dawn + 7] && start.versions[0] > end.versions[0])
}

@Test func `a held update of one user is superseded by a newer update of the whole group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    let held = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    let key = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    #expect(held.heldSend == Plan.HeldSend(key: key, at: dawn + 1))
    var other = rows
    let released = try planner.release(key, now: dawn + 1, in: &other)
    #expect(released.verdicts == [.planned])
    #expect(released.timestamps == [dawn + 6])
    _ = try planner.plan(makeSend(.update), at: 1, in: &rows)
    #expect(try planner.release(key, now: dawn + 1, in: &rows).verdicts == [.superseded])
}

@Test func `an update of one user that came after a held group update follows it`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
    #expect(try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows).verdicts == [.held])
    let ben = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    let held = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "ben"), at: 0, in: &rows)
    #expect(held.verdicts == [.held])
    #expect(held.progress[0].key == ben.wholeGroup)
    // The user's update does not go first.
    let early = try planner.release(ben, now: dawn + 1, in: &rows)
    #expect(early.heldSend == Plan.HeldSend(key: ben, at: dawn + 2))
    #expect(early.progress.isEmpty)
    #expect(try planner.release(ben.wholeGroup, now: dawn + 1, in: &rows).timestamps == [dawn + 6])
    let own = try planner.release(ben, now: dawn + 2, in: &rows)
    #expect(own.verdicts == [.planned])
    #expect(own.timestamps == [dawn + 7])
}

@Test
func `an update of one user waits behind the group's held update, even with a timestamp that is not ahead`()
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update, to: .users(["ada"])), at: 0, in: &rows) }
    #expect(try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows).verdicts == [.held])
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).verdicts == [.held])
}

@Test func `a send that cannot wait releases the held send before it`() throws {
    for audience: Audience in [.users(["ada", "ben"]), .activities(["a1"])] {
        var rows = Rows()
        for _ in 0...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
        _ = try planner.plan(makeSend(.update, id: "waits"), at: 0, in: &rows)
        let plan = try planner.plan(makeSend(.update, to: audience, id: "later"), at: 0, in: &rows)
        #expect(plan.progress.map(\.send) == ["waits", "later"])
        #expect(plan.verdicts == [.planned, .planned])
        #expect(plan.timestamps.first == dawn + 6)
        #expect(plan.timestamps.dropFirst().allSatisfy { $0 == dawn + 7 })
    }
}

@Test(arguments: [Audience.group, .users(["ben"])])
func `an update without conflation does not wait`(_ audience: Audience) throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: audience), at: 0, in: &rows) }
    for number: Int64 in 6...9 {
        var send = makeSend(.update, to: audience, id: "u\(number)")
        send.isConflatable = false
        let plan = try planner.plan(send, at: 0, in: &rows)
        #expect(plan.verdicts == [.planned] && plan.timestamps == [dawn + number])
    }
    // Updates with conflation still wait and supersede one another.
    #expect(try planner.plan(makeSend(.update, to: audience, id: "a"), at: 0, in: &rows).verdicts == [.held])
    #expect(
        try planner.plan(makeSend(.update, to: audience, id: "b"), at: 0, in: &rows).verdicts
            == [.superseded, .held])
    var last = makeSend(.update, to: audience, id: "last")
    last.isConflatable = false
    let plan = try planner.plan(last, at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["b", "last"] && plan.verdicts == [.superseded, .planned])
}

@Test func `an update of one user without conflation releases the group's held update first`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows)
    var own = makeSend(.update, to: .users(["ben"]), id: "own")
    own.isConflatable = false
    let plan = try planner.plan(own, at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["all", "own"] && plan.verdicts == [.planned, .planned])
    #expect(plan.timestamps == [dawn + 6, dawn + 7])
}

@Test func `an update of one activity does not supersede another user's held update`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .activities(["ada's"])), at: 0, in: &rows)
    let key = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    #expect(try planner.release(key, now: dawn + 9, in: &rows).verdicts == [.planned])
}

@Test func `an update of a list of users reports the sends that it supersedes`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    let plan = try planner.plan(makeSend(.update, to: .users(["ben", "ada"]), id: "new"), at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["held", "new"])
    #expect(plan.verdicts == [.superseded, .planned])
    // There is one row per user of the list, without a copy of its state.
    let rowsOfUsers = rows.rows.filter { $0.key.recipient != nil }
    #expect(rowsOfUsers.count == 2)
    #expect(rowsOfUsers.allSatisfy { $0.value.newestState == nil && $0.value.replacedStates.isEmpty })
}

@Test func `a start that opens a generation supersedes the update that the group held before it`() throws {
    var rows = Rows()
    for ahead in 0...5 { _ = try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "held", state: 6), at: 0, in: &rows)
    let start = try planner.plan(makeSend(.start, to: .everyone, id: "start", state: 7), at: 0, in: &rows)
    #expect(start.progress.map(\.send) == ["held", "start"])
    #expect(start.verdicts == [.superseded, .planned])
    #expect(try planner.release(match, now: dawn + 9, in: &rows) == Plan())
    #expect(rows.rows[match]?.newestState?.send == "start")
}

@Test func `a start whose state replaces a cancelled one releases the held update before it`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "start"), at: 0, in: &rows)
    for ahead in 1...5 {
        _ = try planner.plan(makeSend(.update, id: "u\(ahead)", state: 1), at: 0, in: &rows)
    }
    _ = try planner.plan(makeSend(.update, id: "held", state: 9), at: 0, in: &rows)
    // All states are cancelled, so the scope cannot return to an earlier one.
    var row = try #require(rows.rows[match])
    row.cancelledSends = ["start", "u1", "u2", "u3", "u4", "u5"].map {
        GroupRow.CancelledSend(send: $0, at: dawn * 1000)
    }
    rows.rows[match] = row
    let plan = try planner.plan(makeSend(.start, to: .everyone, id: "late", state: 7), at: 1, in: &rows)
    #expect(plan.progress.map(\.send) == ["held", "late"])
    #expect(plan.verdicts == [.planned, .planned])
    #expect(rows.rows[match]?.newestState?.send == "held")
}
