import Lifecycle
import Testing

@testable import Broker

/// Random histories of a group. Members join, share partitions, commit, pause, die and return. The log is slow or
/// fails, and the broker dies. After each step, the group is checked against its invariants.
struct GroupSimulationTests {
    @Test(arguments: 0..<8)
    func `the group keeps its invariants for all behavior of members and log`(batch: Int) {
        for seed in Simulations.seeds(of: batch) {
            var simulation = GroupSimulation(seed: seed)
            if let fault = simulation.firstFault(steps: 60) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

/// One random history of a group with four clients, equal for equal seeds. A function that returns a `String` returns
/// the first violated invariant in words, or nil.
struct GroupSimulation {
    /// The state that a client believes to have.
    private struct Client {
        /// The steps from outside the group to a member with an assignment.
        enum Phase: Equatable {
            case out
            /// JoinGroup was sent.
            case joining(ReplyToken)
            /// The client is in a generation, without an assignment.
            case joined
            /// SyncGroup was sent.
            case syncing(ReplyToken)
            /// The client has its assignment.
            case stable
        }

        var phase = Phase.out
        var member = ""
        var generation: Int32 = -1
        var instance: String?
        var isLeader = false
        /// The members of its generation, if it leads.
        var members: [String] = []
    }

    /// A member of a generation.
    private struct GenerationMember: Hashable {
        let generation: Int32
        let member: String
    }

    private var dice: Dice
    private let driver: GroupDriver
    private var clients: [Client]
    /// The assignments that members received. An assignment is two bytes: the index of the member, and the low byte of
    /// the generation.
    private var received: [GenerationMember: [UInt8]] = [:]
    /// The assignments that the leader of a generation sent, by generation and member.
    private var sent: [Int32: [String: [UInt8]]] = [:]
    private var highestAcknowledgedOffset: Int64 = noOffset
    /// The newest offset that a client tried to commit. Each commit has the next one.
    private var lastOffset: Int64 = 0
    /// Commits whose answer was not taken.
    private var commits: [(token: ReplyToken, offset: Int64)] = []
    private var highestGeneration: Int32 = 0

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        driver = GroupDriver(seed: seed)
        driver.storesAtOnce = dice.chance(percent: 50)
        clients = (0..<4).map { index in
            var client = Client()
            let isStatic = index >= 2
            if isStatic { client.instance = "static-\(index)" }
            return client
        }
    }

    /// Runs the history, and returns the first violated invariant, or nil.
    mutating func firstFault(steps: Int) -> String? {
        for step in 0..<steps {
            takeStep()
            if let fault = takeAnswers() ?? violatedInvariant() { return "step \(step): \(fault)" }
        }
        return settle()
    }

    private mutating func takeStep() {
        let index = dice.below(clients.count)
        // The ranges are percentages.
        switch dice.below(100) {
        case 0..<55: advance(index)
        case 55..<65: commit(index)
        case 65..<70: leave(index)
        case 70..<75: restartClient(at: index)
        case 75..<90: driver.pass(milliseconds: Int64(dice.below(4_000)))
        case 90..<96: driver.storeNext()
        case 96..<98: driver.failNext()
        default: restartBroker()
        }
    }

    private mutating func restartBroker() {
        driver.restart(keepingUnstoredAppends: dice.below(3))
        // The connections end with the process, so no request gets an answer.
        for index in clients.indices {
            switch clients[index].phase {
            case .joining: clients[index].phase = .out
            case .syncing: clients[index].phase = .joined
            case .out, .joined, .stable: break
            }
        }
        commits = []
    }

    /// A restarted client knows only its instance id.
    private mutating func restartClient(at index: Int) {
        clients[index] = Client(instance: clients[index].instance)
    }

    /// Lets a client send its next request.
    private mutating func advance(_ index: Int) {
        let client = clients[index]
        switch client.phase {
        case .out:
            let request = Requests.join(
                member: client.member, instance: client.instance,
                version: client.instance == nil && dice.chance(percent: 50) ? 3 : 5,
                protocols: dice.chance(percent: 80) ? ["range"] : ["sticky", "range"])
            clients[index].phase = .joining(driver.send(request))
        case .joined:
            var assignments: [String: [UInt8]] = [:]
            if client.isLeader {
                for (index, member) in client.members.enumerated() {
                    assignments[member] = [UInt8(index), UInt8(truncatingIfNeeded: client.generation)]
                }
                // A leader repeats the assignments that it sent before.
                if let sent = sent[client.generation] { assignments = sent }
                sent[client.generation] = assignments
            }
            let request = Requests.sync(
                member: client.member, generation: client.generation, instance: client.instance,
                assignments: assignments)
            clients[index].phase = .syncing(driver.send(request))
        case .stable:
            let answer = driver.ask(
                Requests.heartbeat(
                    member: client.member, generation: client.generation, instance: client.instance))
            followError(answer?.error ?? .none, at: index)
        case .joining, .syncing: break
        }
    }

    /// Does what a client does after an error: it joins again with its member id, or as a new client.
    private mutating func followError(_ error: ErrorCode, at index: Int) {
        switch error {
        case .none: break
        case .rebalanceInProgress, .illegalGeneration, .coordinatorNotAvailable:
            clients[index].phase = .out
        default: restartClient(at: index)
        }
    }

    private mutating func commit(_ index: Int) {
        let client = clients[index]
        guard client.phase == .stable else { return }
        lastOffset += 1
        let token = driver.send(
            Requests.commit(
                member: client.member, generation: client.generation, instance: client.instance,
                offset: lastOffset))
        commits.append((token, lastOffset))
    }

    private mutating func leave(_ index: Int) {
        guard clients[index].phase == .stable, clients[index].instance == nil else { return }
        _ = driver.ask(Requests.leave(member: clients[index].member))
        clients[index] = Client()
    }

    /// Takes the answers that have arrived, and returns the first fault.
    private mutating func takeAnswers() -> String? {
        for index in clients.indices {
            switch clients[index].phase {
            case .joining(let token):
                guard let join = driver.take(token)?.join else { continue }
                if let fault = take(join, at: index) { return fault }
            case .syncing(let token):
                guard let sync = driver.take(token)?.sync else { continue }
                if let fault = take(sync, at: index) { return fault }
            case .out, .joined, .stable: continue
            }
        }
        for commit in commits {
            guard let answer = driver.take(commit.token) else { continue }
            guard answer.error == ErrorCode.none else { continue }
            highestAcknowledgedOffset = max(highestAcknowledgedOffset, commit.offset)
        }
        return nil
    }

    private mutating func take(_ join: JoinGroupResponse, at index: Int) -> String? {
        if join.error == .memberIDRequired {
            clients[index].member = join.memberID
            clients[index].phase = .out
            return nil
        }
        guard join.error == .none else {
            followError(join.error, at: index)
            return nil
        }
        // Answers are taken in the order of the clients, not of their arrival, so one may be a generation late.
        if join.generation < highestGeneration - 1 {
            return "generation \(join.generation) was answered after \(highestGeneration)"
        }
        highestGeneration = max(highestGeneration, join.generation)
        clients[index].member = join.memberID
        clients[index].generation = join.generation
        clients[index].isLeader = join.leaderID == join.memberID
        clients[index].members = join.members.map(\.memberID)
        clients[index].phase = .joined
        if clients[index].isLeader && !clients[index].members.contains(join.memberID) {
            return "a leader is not in its own generation"
        }
        return nil
    }

    private mutating func take(_ sync: SyncGroupResponse, at index: Int) -> String? {
        guard sync.error == .none else {
            followError(sync.error, at: index)
            return nil
        }
        let client = clients[index]
        let member = GenerationMember(generation: client.generation, member: client.member)
        if let before = received[member], before != sync.assignment {
            return "\(member) got \(before), then \(sync.assignment)"
        }
        let isAssigned = sync.assignment.count == 2
        if isAssigned, sync.assignment[1] != UInt8(truncatingIfNeeded: client.generation) {
            return "\(member) got the assignment of another generation"
        }
        received[member] = sync.assignment
        clients[index].phase = .stable
        return nil
    }

    private func violatedInvariant() -> String? {
        guard let group = driver.coordinator.groups["g"] else { return nil }
        if let fault = sharedAssignment(in: group) { return fault }
        if group.state == .stable && group.members.isEmpty { return "a stable group has no members" }
        if group.state == .empty && !group.members.isEmpty { return "an empty group has members" }
        if let leader = group.leaderID, group.members[leader] == nil { return "the leader is not a member" }
        for (instance, member) in group.staticMemberIDs where group.members[member]?.instanceID != instance {
            return "instance \(instance) has no member"
        }
        // The driver ticks up to a millisecond after a deadline.
        let lastTickedDeadline = driver.now.steady.advanced(byMilliseconds: -1)
        for member in group.members.values
        where !member.isWaiting && member.sessionDeadline < lastTickedDeadline {
            return "\(member.id) outlived its session"
        }
        return nil
    }

    /// Returns a fault if two members share an assignment of one generation.
    private func sharedAssignment(in group: Group) -> String? {
        var holders: [[UInt8]: String] = [:]
        for (holder, assignment) in received
        where holder.generation == group.generation && !assignment.isEmpty {
            guard group.members[holder.member] != nil else { continue }
            if let other = holders[assignment] { return "\(holder.member) and \(other) share \(assignment)" }
            holders[assignment] = holder.member
        }
        return nil
    }

    /// Ends the history without further disturbances. The group must reach a stable generation with all clients, and an
    /// acknowledged commit must survive a restart.
    private mutating func settle() -> String? {
        while !driver.unstoredAppends.isEmpty {
            driver.storeNext()
            if let fault = takeAnswers() { return "at the end: \(fault)" }
        }
        driver.storesAtOnce = true
        // 60 s in all, longer than the sessions (10 s) and the rebalance timeout (30 s).
        for _ in 0..<40 {
            for index in clients.indices { advance(index) }
            driver.pass(milliseconds: 1_500)
            for index in clients.indices {
                if let fault = takeAnswers() ?? violatedInvariant() { return "at the end: \(fault)" }
                if case .stable = clients[index].phase { advance(index) }
            }
        }
        let stable = clients.filter { $0.phase == .stable }
        guard stable.count == clients.count else {
            let state = driver.coordinator.groups["g"]?.state.rawValue ?? "gone"
            return "the group is \(state) in the end, its clients are \(clients.map { "\($0.phase)" })"
        }
        guard Set(stable.map(\.generation)).count == 1 else { return "two generations at once" }
        driver.restart()
        let offset = driver.ask(Requests.fetch())?.fetchedOffset?.offset ?? noOffset
        let isExpected = offset >= highestAcknowledgedOffset && offset <= lastOffset
        return isExpected ? nil : "committed \(highestAcknowledgedOffset), found \(offset)"
    }
}
