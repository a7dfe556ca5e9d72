import Lifecycle
import Testing

@testable import Broker

/// Random histories of a group. Members join, share partitions, commit, pause, die and return. The log is slow or fails,
/// and the broker dies. After each step, the group is checked against its invariants.
struct GroupSimulationTests {
    @Test(arguments: 0..<8)
    func `the group keeps its invariants for all behavior of members and log`(batch: Int) {
        for seed in Simulations.seeds(of: batch) {
            var simulation = GroupSimulation(seed: seed)
            if let fault = simulation.run(steps: 60) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

/// One random history, equal for equal seeds.
struct GroupSimulation {
    /// The state that a client believes to have.
    private struct Client {
        enum Phase: Equatable {
            case out
            case joining(ReplyToken)
            case joined
            case syncing(ReplyToken)
            case stable
        }

        var phase = Phase.out
        var member = ""
        var generation: Int32 = -1
        var instance: String?
        var isLeader = false
        /// The members of its generation, if it leads.
        var members: [String] = []
        var lastHeartbeatAt: Int64 = 0
    }

    /// A member of a generation.
    private struct GenerationMember: Hashable {
        let generation: Int32
        let member: String
    }

    private var dice: Dice
    private let driver: GroupDriver
    private var clients: [Client]
    /// Every assignment that a member got, by generation and member.
    private var assigned: [GenerationMember: [UInt8]] = [:]
    /// The assignments that each generation's leader sent. Members must get no others.
    private var intended: [Int32: [String: [UInt8]]] = [:]
    private var acknowledged: Int64 = -1
    private var attempted: Int64 = 0
    private var commits: [(token: ReplyToken, offset: Int64)] = []
    private var highestGeneration: Int32 = 0

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        driver = GroupDriver(seed: seed)
        driver.storesAtOnce = dice.chance(percent: 50)
        clients = (0..<4).map { index in
            var client = Client()
            if index >= 2 { client.instance = "static-\(index)" }
            return client
        }
    }

    mutating func run(steps: Int) -> String? {
        for step in 0..<steps {
            takeStep()
            if let fault = takeAnswers() ?? check() { return "step \(step): \(fault)" }
        }
        return settle()
    }

    private mutating func takeStep() {
        let index = dice.below(clients.count)
        switch dice.below(100) {
        case 0..<55: advance(index)
        case 55..<65: commit(index)
        case 65..<70: leave(index)
        case 70..<75: clients[index] = Client(instance: clients[index].instance)
        case 75..<90: driver.pass(milliseconds: Int64(dice.below(4_000)))
        case 90..<96: driver.storeNext()
        case 96..<98: driver.failNext()
        default:
            driver.restart(keeping: dice.below(3))
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
                if intended[client.generation] == nil { intended[client.generation] = assignments }
            }
            let request = Requests.sync(
                member: client.member, generation: client.generation, instance: client.instance,
                assignments: intended[client.generation].flatMap { client.isLeader ? $0 : nil } ?? [:])
            clients[index].phase = .syncing(driver.send(request))
        case .stable:
            clients[index].lastHeartbeatAt = driver.milliseconds
            let answer = driver.ask(
                Requests.heartbeat(
                    member: client.member, generation: client.generation, instance: client.instance))
            handle(answer?.error ?? .none, at: index)
        case .joining, .syncing: break
        }
    }

    /// Lets a client leave its generation, or the group, after an error.
    private mutating func handle(_ error: ErrorCode, at index: Int) {
        switch error {
        case .none: break
        case .rebalanceInProgress, .illegalGeneration, .coordinatorNotAvailable:
            clients[index].phase = .out
        default: clients[index] = Client(instance: clients[index].instance)
        }
    }

    private mutating func commit(_ index: Int) {
        let client = clients[index]
        guard client.phase == .stable else { return }
        attempted += 1
        let token = driver.send(
            Requests.commit(
                member: client.member, generation: client.generation, instance: client.instance,
                offset: attempted))
        commits.append((token, attempted))
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
                if let fault = handle(join, at: index) { return fault }
            case .syncing(let token):
                guard let sync = driver.take(token)?.sync else { continue }
                if let fault = handle(sync, at: index) { return fault }
            case .out, .joined, .stable: continue
            }
        }
        for commit in commits {
            guard let answer = driver.take(commit.token) else { continue }
            if answer.error == ErrorCode.none { acknowledged = max(acknowledged, commit.offset) }
        }
        return nil
    }

    private mutating func handle(_ join: JoinGroupResponse, at index: Int) -> String? {
        if join.error == .memberIDRequired {
            clients[index].member = join.memberID
            clients[index].phase = .out
            return nil
        }
        guard join.error == .none else {
            handle(join.error, at: index)
            return nil
        }
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

    private mutating func handle(_ sync: SyncGroupResponse, at index: Int) -> String? {
        guard sync.error == .none else {
            handle(sync.error, at: index)
            return nil
        }
        let client = clients[index]
        let member = GenerationMember(generation: client.generation, member: client.member)
        if let before = assigned[member], before != sync.assignment {
            return "\(member) got \(before), then \(sync.assignment)"
        }
        if sync.assignment.count == 2, sync.assignment[1] != UInt8(truncatingIfNeeded: client.generation) {
            return "\(member) got the assignment of another generation"
        }
        assigned[member] = sync.assignment
        clients[index].phase = .stable
        clients[index].lastHeartbeatAt = driver.milliseconds
        return nil
    }

    /// Returns the first invariant that does not hold.
    private func check() -> String? {
        guard let group = driver.coordinator.groups["g"] else { return nil }
        // Two members never share an assignment of one generation.
        var holders: [[UInt8]: String] = [:]
        for (holder, assignment) in assigned
        where holder.generation == group.generation && !assignment.isEmpty {
            guard group.members[holder.member] != nil else { continue }
            if let other = holders[assignment] { return "\(holder.member) and \(other) share \(assignment)" }
            holders[assignment] = holder.member
        }
        if group.state == .stable && group.members.isEmpty { return "a stable group has no members" }
        if group.state == .empty && !group.members.isEmpty { return "an empty group has members" }
        if let leader = group.leaderID, group.members[leader] == nil { return "the leader is not a member" }
        for (instance, member) in group.staticMemberIDs where group.members[member]?.instanceID != instance {
            return "instance \(instance) has no member"
        }
        let now = driver.now.steady
        for member in group.members.values
        where !member.isWaiting && member.sessionDeadline < now.advanced(byMilliseconds: -1) {
            return "\(member.id) outlived its session"
        }
        return nil
    }

    /// Ends the history: each acknowledged commit is there, and the group reaches a stable generation.
    private mutating func settle() -> String? {
        while !driver.unstoredAppends.isEmpty {
            driver.storeNext()
            if let fault = takeAnswers() { return "at the end: \(fault)" }
        }
        driver.storesAtOnce = true
        for _ in 0..<40 {
            for index in clients.indices { advance(index) }
            driver.pass(milliseconds: 1_500)
            for index in clients.indices {
                if let fault = takeAnswers() ?? check() { return "at the end: \(fault)" }
                if case .stable = clients[index].phase { advance(index) }
            }
        }
        let stable = clients.filter { $0.phase == .stable }
        guard stable.count == clients.count else {
            let state = driver.coordinator.groups["g"]?.state.rawValue ?? "gone"
            return "the group is \(state) in the end, its clients are \(clients.map { "\($0.phase)" })"
        }
        guard Set(stable.map(\.generation)).count == 1 else { return "two generations at once" }
        driver.restart(keeping: 0)
        let offset = driver.ask(Requests.fetch())?.fetchedOffset?.offset ?? -1
        return offset >= acknowledged && offset <= attempted
            ? nil : "committed \(acknowledged), found \(offset)"
    }
}
