import FanOut
import Identifiers
import Payloads
import RecordFormat
import Sends
import Simulation

// The sends to the fleet, and the planner's work on them.
extension FleetHistory {
    func send() throws {
        now += Int64(random.number(below: 2))
        sendCount += 1
        let event: PushEvent = [.start, .start, .update, .update, .update, .update, .end][
            random.number(below: 7)]
        let group = ["match", "match", "solo", hidesSomeGroups ? "match" : "chest"][random.number(below: 4)]
        if group == "solo", event == .start { return }
        let users = Array(Set(phones.map(\.user))).sorted()
        let chosen = Array(users.shuffled(using: &random).prefix(1 + random.number(below: 2)))
        var audience: Audience = event == .start ? .everyone : .group
        if chance(35) { audience = .users(chosen) }
        if group == "chest" { audience = .users([chosen[0]]) }
        var send = makeSend(event, to: audience, group: group, id: "s\(sendCount)", state: sendCount)
        send.acceptedAt = nowMilliseconds
        if group == "chest" { send.owner = .user(chosen[0]) }
        if event == .update, chance(15) { send.isConflatable = false }
        if extraEvents.contains(.restarts), event == .start {
            send.forcesRestart = extraRandom.number(below: 100) < 25
        }
        sent.append(send)
        try take(try planner.plan(.send(send), stamp: nowMilliseconds, app: shop, in: &rows))
    }

    /// Sends an update or an END by the ids of some activities.
    func sendByName() throws {
        let group = ["match", "match", "solo"][extraRandom.number(below: 3)]
        let activities = phones.flatMap(\.activities).filter { $0.group == group }.map(\.id)
        if activities.isEmpty { return }
        sendCount += 1
        let names = Array(activities.shuffled(using: &extraRandom).prefix(1 + extraRandom.number(below: 2)))
        var send = makeSend(
            extraRandom.number(below: 3) == 0 ? .end : .update, to: .activities(names), group: group,
            id: "s\(sendCount)",
            state: sendCount)
        send.acceptedAt = nowMilliseconds
        sent.append(send)
        try take(try planner.plan(.send(send), stamp: nowMilliseconds, app: shop, in: &rows))
    }

    func cancel() throws {
        guard let send = sent.randomElement(using: &random), let key = send.scopeKey else { return }
        let cancel = Cancellation(
            send: send.id, app: send.app, key: key, recipient: chance(80) ? send.onlyUser : nil,
            acceptedAt: nowMilliseconds)
        let plan = try planner.plan(.cancellation(cancel), stamp: nowMilliseconds, app: shop, in: &rows)
        if plan.stop != nil { account.cancel(send) }
        try take(plan)
    }

    /// Plans one lane's subscription. The answer follows all records that were planned before.
    func answer() throws {
        if subscriptions.isEmpty { return }
        let subscription = subscriptions.removeFirst()
        let plan = try planner.plan(.subscription(subscription), stamp: nowMilliseconds, app: nil, in: &rows)
        for part in plan.expansions {
            guard part.lanes == .only(LaneSet([subscription.lane])), part.expansion.targets == .newMembers
            else { throw Violation(description: "the answer to lane \(subscription.lane) is a send") }
            topics[subscription.lane].arrivals.append(part.expansion.encoded())
        }
        if let answer = plan.subscriptionAnswer {
            topics[subscription.lane].arrivals.append(answer.encoded())
        }
    }

    func take(_ plan: Plan) throws {
        if let heldSend = plan.heldSend { heldSends.append(heldSend) }
        for part in plan.requests {
            let bytes = part.request.encoded()
            for lane in part.lanes.lanes(of: lanes) {
                topics[lane].arrivals.append(bytes)
                guard case .expansion(let expansion) = part.request else { continue }
                expectedReports["\(expansion.send)/\(lane)", default: 0] += 1
            }
        }
        if plan.expansions.isEmpty { return }
        account.note(startsIn: plan)
        let users = Set(phones.map(\.user)).sorted()
        try account.take(
            plan,
            users: users.map { .init(name: $0, registryOffset: topics[lane(of: $0)].committed.registry) })
        for part in plan.expansions { oweVisits(by: part) }
    }
}

extension Send {
    /// The recipient, if the send is for one user of a public group.
    fileprivate var onlyUser: Recipient? {
        guard owner == nil, case .users(let users) = audience, users.count == 1 else { return nil }
        return .user(users[0])
    }
}
