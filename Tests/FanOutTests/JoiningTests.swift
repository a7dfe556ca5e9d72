import LiveActivity
import Testing

@testable import FanOut

// Starts of those who join a life of a group that is open.

private let key = GroupKey(app: "shop", group: "match")

private func takeBack(
    _ send: String, of recipient: Recipient? = nil, at seconds: Int64, in rows: inout Rows
) throws {
    let cancel = Cancel(send: send, app: "shop", key: key, recipient: recipient, acceptedAt: dawn * 1000)
    _ = try planner.plan(.cancel(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
}

private func goals(_ number: Int) -> RawJSON { raw(#"{"goals":\#(number)}"#) }

@Test(arguments: [Audience.everyone, .users(["ben"]), .users(["ada", "ben"])])
func `a start that corrects one that was taken back says its own state, to all`(_ audience: Audience) throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "wrong", state: 9), at: 0, in: &rows)
    try takeBack("wrong", at: 5, in: &rows)
    var dry = makeSend(.start, to: audience, id: "dry", state: 0)
    dry.dryRun = true
    #expect(try planner.plan(dry, at: 9, in: &rows).parts.allSatisfy { $0.expansion.send == "dry" })
    let plan = try planner.plan(makeSend(.start, to: audience, id: "right", state: 0), at: 10, in: &rows)
    #expect(plan.progress.map(\.send) == ["wrong.undo", "right"])
    #expect(plan.parts.allSatisfy { $0.expansion.content.contentState == goals(0) })
    #expect(plan.parts.allSatisfy { $0.expansion.generation == dawn && $0.expansion.version == dawn + 10 })
    #expect(plan.versions.allSatisfy { $0 == dawn + 10 })
    let update = try #require(plan.parts.first).expansion
    #expect(update.targets == .group && update.content.event == .update && update.content.alert == nil)
    // It is what holds from then on, until it is taken back itself.
    func joined(_ seconds: Int64) throws -> Plan {
        let start = makeSend(.start, to: .tags(["a"]), id: "s\(seconds)", state: 7)
        return try planner.plan(start, at: seconds, in: &rows)
    }
    #expect(try joined(20).parts.map(\.expansion.content.contentState) == [goals(0)])
    try takeBack("right", at: 30, in: &rows)
    #expect(try joined(40).parts.map(\.expansion.content.contentState) == [goals(7), goals(7)])
}

@Test func `a start says what an update said while that was not taken back`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "first", state: 1), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "update", state: 2), at: 1, in: &rows)
    try takeBack("first", at: 2, in: &rows)
    func said(_ seconds: Int64) throws -> RawJSON? {
        let start = makeSend(.start, to: .tags(["a"]), id: "s\(seconds)", state: 5)
        return try planner.plan(start, at: seconds, in: &rows).parts[0].expansion.content.contentState
    }
    #expect(try said(3) == goals(2))
    try takeBack("update", at: 4, in: &rows)
    #expect(try said(5) == goals(5))
}

@Test func `one user is not started with what was taken back from that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, id: "first", state: 1), at: 0, in: &rows)
    _ = try planner.plan(
        makeSend(.update, to: .users(["ada", "ben"]), id: "list", state: 2), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "own", state: 3), at: 20, in: &rows)
    // What the list said only the lanes know, so that nothing comes back here.
    try takeBack("own", of: .user("ben"), at: 30, in: &rows)
    let plan = try planner.plan(makeSend(.start, to: .users(["ben"]), state: 5), at: 40, in: &rows)
    let expansion = try #require(plan.parts.first).expansion
    #expect(expansion.content.contentState == goals(1) && !expansion.saysOwnState)
    #expect(plan.versions == [dawn])
    #expect(!plan.parts[0].isUrgent, "it must not overtake the list")
}
