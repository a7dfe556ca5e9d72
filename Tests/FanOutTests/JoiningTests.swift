import Identifiers
import JSON
import Payloads
import Schedules
import Sends
import Testing

@testable import FanOut

// Starts that join an open generation of a group.

@Test(arguments: [Audience.everyone, .users(["ben"]), .users(["ada", "ben"])])
func `a start that corrects a cancelled start sends its own state to everyone`(_ audience: Audience) throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "wrong", state: 9), at: 0, in: &rows)
    _ = try planner.cancel("wrong", at: 5, in: &rows)
    var dry = makeSend(.start, to: audience, id: "dry", state: 0)
    dry.isDryRun = true
    #expect(try planner.plan(dry, at: 9, in: &rows).expansions.allSatisfy { $0.expansion.send == "dry" })
    let plan = try planner.plan(makeSend(.start, to: audience, id: "right", state: 0), at: 10, in: &rows)
    #expect(plan.progress.map(\.send) == ["wrong.undo", "right"])
    #expect(plan.states.allSatisfy { $0 == goals(0) })
    #expect(
        plan.expansions.allSatisfy {
            $0.expansion.generation == version(at: 0) && $0.expansion.version == version(at: 10)
        })
    #expect(plan.timestamps.allSatisfy { $0 == dawn + 10 })
    let update = try #require(plan.expansions.first).expansion
    #expect(update.targets == .group && update.content.event == .update && update.content.alert == nil)
    // The state of the correcting start is the group's newest state until that start is cancelled.
    func planJoiningStart(at seconds: Int64) throws -> Plan {
        let start = makeSend(.start, to: .tags(["a"]), id: "s\(seconds)", state: 7)
        return try planner.plan(start, at: seconds, in: &rows)
    }
    #expect(try planJoiningStart(at: 20).states == [goals(0)])
    _ = try planner.cancel("right", at: 30, in: &rows)
    #expect(try planJoiningStart(at: 40).states == [goals(7), goals(7)])
}

@Test func `a start carries the state of an update until that update is cancelled`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "first", state: 1), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "update", state: 2), at: 1, in: &rows)
    _ = try planner.cancel("first", at: 2, in: &rows)
    func stateOfStart(at seconds: Int64) throws -> RawJSON? {
        let start = makeSend(.start, to: .tags(["a"]), id: "s\(seconds)", state: 5)
        return try planner.plan(start, at: seconds, in: &rows).expansions[0].expansion.content.contentState
    }
    #expect(try stateOfStart(at: 3) == goals(2))
    _ = try planner.cancel("update", at: 4, in: &rows)
    #expect(try stateOfStart(at: 5) == goals(5))
}

@Test func `a start of one user does not carry the user's cancelled update`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "first", state: 1), at: 0, in: &rows)
    _ = try planner.plan(
        makeSend(.update, to: .users(["ada", "ben"]), id: "list", state: 2), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "own", state: 3), at: 20, in: &rows)
    // Only the lanes know the list's state for this user, so the planner restores nothing here.
    _ = try planner.cancel("own", of: .user("ben"), at: 30, in: &rows)
    let plan = try planner.plan(makeSend(.start, to: .users(["ben"]), state: 5), at: 40, in: &rows)
    let expansion = try #require(plan.expansions.first).expansion
    #expect(expansion.content.contentState == goals(1))
    #expect(plan.timestamps == [dawn])
}

private func findings(_ plan: Plan) throws -> [String] {
    guard case .planner(let part) = try #require(plan.progress.first).part else { throw Missing() }
    return part.findings
}

@Test(arguments: [Audience.everyone, .users(["ben"]), .users(["ada", "ben"])])
func `a start of another type does not join an open group and opens it after its END`(_ audience: Audience)
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    var other = makeSend(.start, to: audience)
    other.content.attributesType = "Order"
    let before = rows
    let plan = try planner.plan(other, at: 10, in: &rows)
    #expect(plan.verdicts == [.refused] && plan.expansions.isEmpty && rows == before)
    #expect(try findings(plan).allSatisfy { $0.contains("is Order") && $0.contains("with Match") })
    _ = try planner.plan(makeSend(.end), at: 20, in: &rows)
    #expect(try planner.plan(other, at: 30, in: &rows).verdicts == [.planned])
}

private func object(_ name: String, bytes: Int) -> RawJSON {
    raw("{\"\(name)\":\"\(String(repeating: "x", count: bytes - name.utf8.count - 7))\"}")
}

@Test func `a start that is too large with the state that it gets is refused`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    var update = makeSend(.update)
    update.content.contentState = object("text", bytes: 3000)
    _ = try planner.plan(update, at: 10, in: &rows)
    var start = makeSend(.start, to: .tags(["a"]))
    start.content.attributes = object("home", bytes: 1097)
    let plan = try planner.plan(start, at: 20, in: &rows)
    #expect(plan.verdicts == [.refused] && plan.expansions.isEmpty)
    let found = try findings(plan)
    #expect(found.count == 2 && found[0].contains("4097 bytes together") && found[1].hasPrefix("payload has"))
    start.content.attributes = object("home", bytes: 800)
    #expect(try planner.plan(start, at: 30, in: &rows).verdicts == [.planned])
    // Later updates are checked with the largest attributes.
    update.content.contentState = object("text", bytes: 3297)
    let large = try planner.plan(update, at: 40, in: &rows)
    #expect(try findings(large).map { $0.contains("4097 bytes together") } == [true])
    // A user's own state counts if the user's start gets it.
    update.content.contentState = object("text", bytes: 20)
    _ = try planner.plan(update, at: 50, in: &rows)
    update.content.contentState = object("text", bytes: 3000)
    update.audience = .users(["ben"])
    _ = try planner.plan(update, at: 60, in: &rows)
    start.content.attributes = object("home", bytes: 1097)
    for (user, verdict) in [("ben", ProgressRecord.PlannerVerdict.refused), ("ada", .planned)] {
        start.audience = .users([user])
        #expect(try planner.plan(start, at: 70, in: &rows).verdicts == [verdict])
    }
}

@Test func `a start for named users does not change the end date of the group and reports it`() throws {
    var rows = Rows()
    func start(_ audience: Audience, endDate: Int64?, at seconds: Int64) throws -> Plan {
        var send = makeSend(.start, to: audience)
        send.endDate = endDate
        return try planner.plan(send, at: seconds, in: &rows)
    }
    #expect(try start(.everyone, endDate: dawn + 1000, at: 0).autoEnd?.endsAt == dawn + 1000)
    for users in [["ben"], ["ada", "ben"]] {
        let plan = try start(.users(users), endDate: dawn + 50, at: 10)
        #expect(plan.verdicts == [.planned] && plan.autoEnd == nil)
        #expect(try findings(plan).map { $0.contains("\(dawn + 1000)") } == [true])
        #expect(plan.expansions.allSatisfy { $0.expansion.deadline == dawn + 1000 })
        #expect(rows.rows[match]?.endDate == dawn + 1000)
        #expect(try findings(try start(.users(users), endDate: dawn + 1000, at: 11)).isEmpty)
        #expect(try findings(try start(.users(users), endDate: nil, at: 12)).isEmpty)
    }
    let tags = try start(.tags(["a"]), endDate: dawn + 500, at: 20)
    #expect(tags.autoEnd?.endsAt == dawn + 500)
    // The start that opens the group's generation sets its end date.
    _ = try planner.plan(makeSend(.end), at: 30, in: &rows)
    let opening = try start(.users(["ben"]), endDate: dawn + 700, at: 40)
    #expect(opening.autoEnd?.endsAt == dawn + 700)
    #expect(try findings(opening).isEmpty)
}

@Test func `the owner of a private group can change its end date after its start`() throws {
    var rows = Rows()
    var send = makeSend(.start, to: .users(["ben"]), group: "order")
    send.owner = .user("ben")
    send.endDate = dawn + 1000
    _ = try planner.plan(send, at: 0, in: &rows)
    send.endDate = dawn + 500
    #expect(try planner.plan(send, at: 10, in: &rows).autoEnd?.endsAt == dawn + 500)
}
