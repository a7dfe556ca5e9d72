import FanOut
import Identifiers
import Payloads
import Sends
import Simulation
import Testing

/// An independent account of the rules. It knows no clock and no versions, only the step at which each user
/// got each send.
private struct Account {
    /// The steps of the newest start and END. 0 means none.
    struct NewestSteps {
        var start = 0
        var end = 0
    }

    var group = NewestSteps()
    var own: [String: NewestSteps] = [:]

    func isOpen(_ user: String?) -> Bool { start(user) > end(user) }
    func isOver(_ user: String?) -> Bool { !isOpen(user) && end(user) > 0 }

    private func start(_ user: String?) -> Int { max(group.start, user.flatMap { own[$0]?.start } ?? 0) }
    private func end(_ user: String?) -> Int { max(group.end, user.flatMap { own[$0]?.end } ?? 0) }
}

private let users = ["a", "bb", "ccc", "dddd"]

@Test func `in any order of sends, a newer send has the higher version for each user`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for history in 0..<500 { try runHistory(&generator, "seed \(seed), history \(history)") }
}

private func runHistory(_ generator: inout SeededGenerator, _ name: Comment) throws {
    var rows = Rows()
    var account = Account()
    var newest: [String: Int64] = [:]
    var now: Int64 = 0
    for step in 1...40 {
        now += Int64.random(in: 0...2, using: &generator)
        let send = makeRandomSend(step, &generator)
        let before = rows
        let plan = try planner.plan(send, at: now, in: &rows)
        // Planning the same rows again, as after a crash, gives the same plan.
        var again = before
        #expect(try planner.plan(send, at: now, in: &again) == plan, name)
        #expect(again == rows, name)
        // Held sends depend on the clock, and other tests cover them. Here the clock moves on.
        if plan.heldSend != nil {
            rows = before
            now += 10
            continue
        }
        try check(plan, of: send, step: step, &account, &newest, "\(name), step \(step)")
    }
}

private func makeRandomSend(_ step: Int, _ generator: inout SeededGenerator) -> Send {
    let events: [PushEvent] = [.start, .update, .update, .update, .end]
    let event = events[Int.random(in: events.indices, using: &generator)]
    let chosen = Array(users.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)))
    let audience: Audience =
        switch Int.random(in: 0...5, using: &generator) {
        case 0...2: .users(chosen)
        case 3 where event != .start: .activities(["x"])
        default: event == .start ? .everyone : .group
        }
    return makeSend(event, to: audience, id: "s\(step)", state: step)
}

/// Returns the recipients of the plan, with their versions.
private func recipients(of plan: Plan) -> [(user: String, version: Int64)] {
    plan.expansions.flatMap { part -> [(user: String, version: Int64)] in
        guard case .recipients(let list) = part.expansion.targets else {
            return users.map { ($0, part.expansion.version) }
        }
        for scoped in list {
            #expect(part.lanes == .only(LaneSet([scoped.recipient.text.utf8.count % 3])))
        }
        return list.map { (String($0.recipient.text.dropFirst(2)), $0.version) }
    }
}

private func check(
    _ plan: Plan, of send: Send, step: Int, _ account: inout Account, _ newest: inout [String: Int64],
    _ name: Comment
) throws {
    let event = send.content.event
    var named: [String]?
    if case .users(let list) = send.audience { named = list }
    let opensGeneration = event == .start && !account.isOpen(nil)
    let expected = (named ?? users).filter { user in
        if event == .start { return true }
        return named == nil ? !account.isOver(nil) : !account.isOver(user)
    }
    let reachedUsers = recipients(of: plan)
    #expect(reachedUsers.map(\.user).sorted() == expected.sorted(), name)
    #expect(plan.verdicts == [expected.isEmpty ? .ended : .planned], name)
    for (user, version) in reachedUsers {
        let last = newest[user] ?? 0
        // A start for many also reaches the lanes of users that an END has removed. The lanes refuse it.
        let joinsGeneration = event == .start && !opensGeneration && (named == nil || account.isOpen(user))
        // A user who joins gets the newest state of the lane. Everything else is newer than all earlier
        // sends.
        #expect(joinsGeneration || version > last, "\(name): \(user)")
        newest[user] = max(last, version)
        if named != nil, !joinsGeneration, !opensGeneration {
            var own = account.own[user] ?? Account.NewestSteps()
            if event == .start { own.start = step }
            if event == .end { own.end = step }
            account.own[user] = own
        }
    }
    if case .activities = send.audience { return }
    if opensGeneration { account.group.start = step }
    if named == nil, event == .end, !reachedUsers.isEmpty { account.group.end = step }
}
