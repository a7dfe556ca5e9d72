import Payloads
import Sends
import Testing

@testable import FanOut

// The planner's side of subscriptions: the lanes that get the sends to a group, and the answers to them.

private func subscribe(_ lane: Int = 1, at seconds: Int64, in rows: inout Rows) throws -> Plan {
    let subscription = Subscription(lane: lane, app: "shop", group: "match")
    return try planner.plan(
        .subscription(subscription), stamp: (dawn + seconds) * 1000, app: nil, in: &rows)
}

@Test func `only the lane that subscribes gets the newest state of its group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let started = try #require(try subscribe(at: 1, in: &rows).expansions.first).expansion
    #expect(
        started.content.event == .update && started.content.alert == nil && started.version == version(at: 0))
    let update = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    let before = rows
    let plan = try subscribe(at: 9, in: &rows)
    #expect(rows == before, "the lane was a subscriber already")
    #expect(plan.progress.isEmpty && plan.note == nil && plan.subscriptionAnswer == nil)
    let part = try #require(plan.expansions.first)
    #expect(plan.expansions.count == 1 && part.lanes == .only(LaneSet([1])))
    var same = try #require(update.expansions.first).expansion
    same.targets = .newMembers
    #expect(part.expansion == same)
    _ = try planner.plan(makeSend(.end, state: 5), at: 10, in: &rows)
    #expect(try subscribe(at: 11, in: &rows).expansions.first?.expansion.content.event == .end)
}

@Test func `a subscription without a state to send gets an answer without one`() throws {
    var rows = Rows()
    let key = ScopeKey(app: "shop", group: "match")
    func answer(endVersion: Int64 = 0) -> [Plan.LaneRequest] {
        let answer = SubscriptionAnswer(key: key, generation: 0, endVersion: endVersion)
        return [Plan.LaneRequest(request: .subscriptionAnswer(answer), lanes: .only(LaneSet([1])))]
    }
    #expect(try subscribe(at: 0, in: &rows).requests == answer(), "the group is unknown")
    _ = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    #expect(try subscribe(3, at: 6, in: &rows) == Plan(), "the lane does not exist")
    let late = try subscribe(at: 6 + 8 * 3600, in: &rows)
    #expect(late.requests == answer(), "the deadline of the update has passed")
    let cancel = Cancellation(send: "u", app: "shop", key: key, acceptedAt: dawn * 1000)
    _ = try planner.plan(.cancellation(cancel), stamp: (dawn + 7) * 1000, app: shop, in: &rows)
    #expect(try subscribe(at: 8, in: &rows).requests == answer(), "the update was cancelled")
}

@Test func `sends to a group go to the lanes that have members, and to no others`() throws {
    var rows = Rows()
    let first = try planner.plan(makeSend(.update, state: 1), at: 0, in: &rows)
    #expect(first.expansions.map(\.lanes) == [.none], "nobody has subscribed")
    #expect(try subscribe(2, at: 1, in: &rows).expansions.map(\.lanes) == [.only(LaneSet([2]))])
    let second = try planner.plan(makeSend(.update, state: 2), at: 10, in: &rows)
    #expect(second.expansions.map(\.lanes) == [.only(LaneSet([2]))])
    // The planner of these tests puts a recipient into the lane of its name's length.
    _ = try planner.plan(makeSend(.start, to: .users(["a"])), at: 20, in: &rows)
    let end = try planner.plan(makeSend(.end), at: 30, in: &rows)
    #expect(end.expansions.map(\.lanes) == [.only(LaneSet([0, 2]))])
    _ = try planner.plan(makeSend(.start, to: .tags(["vip"])), at: 40, in: &rows)
    let last = try planner.plan(makeSend(.update, state: 3), at: 50, in: &rows)
    #expect(last.expansions.map(\.lanes) == [.every])
}

@Test func `a group is remembered for as long as its members may live`() throws {
    var rows = Rows()
    _ = try subscribe(at: 0, in: &rows)
    let row = try #require(rows.rows[ScopeKey(app: "shop", group: "match")])
    let lifetime = GroupRow.membershipMilliseconds
    #expect(row.isKept(at: dawn * 1000 + lifetime))
    #expect(!row.isKept(at: dawn * 1000 + lifetime + 3_600_000))
    _ = try subscribe(at: 7200, in: &rows)
    #expect(rows.rows[ScopeKey(app: "shop", group: "match")]?.membersUntil ?? 0 > row.membersUntil)
}

@Test func `subscriptions beyond the limit make no rows, and the sends to their groups go to every lane`()
    throws
{
    var rows = Rows()
    let planner = Planner(lanes: 3, subscribedGroupsMax: 2) { _, _ in 0 }
    func subscribe(to group: String, app: String = "shop", at seconds: Int64 = 0) throws -> Plan {
        let subscription = Subscription(lane: 1, app: app, group: group)
        return try planner.plan(
            .subscription(subscription), stamp: (dawn + seconds) * 1000, app: nil, in: &rows)
    }
    func lanes(ofUpdateTo group: String, at seconds: Int64 = 0) throws -> [MemberLanes] {
        try planner.plan(makeSend(.update, group: group, id: "to \(group)"), at: seconds, in: &rows)
            .expansions.map(\.lanes)
    }
    for group in ["a", "b"] { #expect(try subscribe(to: group).appAtSubscriptionLimit == nil) }
    #expect(try lanes(ofUpdateTo: "unknown") == [.none])
    let before = rows.rows
    let plan = try subscribe(to: "c")
    #expect(plan.appAtSubscriptionLimit == "shop" && plan.subscriptionAnswer != nil)
    #expect(rows.rows == before)
    #expect(try lanes(ofUpdateTo: "c") == [.every])
    // A known group and another app are not affected, not even by the next subscriptions.
    #expect(try subscribe(to: "b", at: 7200).appAtSubscriptionLimit == nil)
    #expect(try subscribe(to: "a", app: "other").appAtSubscriptionLimit == nil)
    // A group that a send uses does not count any more. A new one may have members that were not stored.
    #expect(try lanes(ofUpdateTo: "a", at: 7200) == [.only(LaneSet([1]))])
    #expect(try subscribe(to: "d", at: 7200).appAtSubscriptionLimit == nil)
    #expect(try subscribe(to: "e", at: 7200).appAtSubscriptionLimit == "shop")
    #expect(try lanes(ofUpdateTo: "d", at: 7200) == [.every])
    // The groups end with the lives of their members.
    let later = 7200 + GroupRow.membershipMilliseconds / 1000 + 3600
    #expect(try subscribe(to: "f", at: later).appAtSubscriptionLimit == nil)
    #expect(try lanes(ofUpdateTo: "f", at: later) == [.only(LaneSet([1]))])
    #expect(try lanes(ofUpdateTo: "unknown too", at: later) == [.none])
}

@Test func `a send to a named activity goes to every lane, because its lane may not have subscribed yet`()
    throws
{
    var rows = Rows()
    _ = try subscribe(at: 0, in: &rows)
    for event in [PushEvent.update, .end] {
        let plan = try planner.plan(makeSend(event, to: .activities(["a1"])), at: 1, in: &rows)
        #expect(plan.expansions.map(\.lanes) == [.every])
    }
    let update = try planner.plan(makeSend(.update, id: "u"), at: 9, in: &rows)
    #expect(update.expansions.map(\.lanes) == [.only(LaneSet([1]))])
}
