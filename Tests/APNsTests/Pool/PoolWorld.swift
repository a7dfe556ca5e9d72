import Lifecycle
import Simulation

@testable import APNs

/// A way to be wrong on purpose, to show that the simulation would see it.
enum PoolMutant: CaseIterable {
    /// Takes every stream of a connection that said GOAWAY for unprocessed, whatever its last stream is.
    case ignoresLastStream
    /// Takes the requests of a broken connection for unprocessed.
    case lostIsUnprocessed
    /// Does not hear of a smaller SETTINGS_MAX_CONCURRENT_STREAMS.
    case ignoresSmallerSettings
    /// Does not hear of GOAWAY.
    case ignoresGoaway
    /// Opens connections without asking the budget.
    case ignoresBudget
    /// Loses the outcome of a reset.
    case losesResets
    /// Gives requests a second end.
    case endsTwice
}

/// A pool, the sessions under it and the server behind them, as values: frames take their time in both
/// directions, the server does anything it may, and every promise of the pool is checked from outside.
struct PoolWorld {
    var random: SeededGenerator
    let mutant: PoolMutant?
    var pool: Pool
    var budget = ConnectBudget()
    var now = Instant(nanoseconds: 0)
    var links: [UInt32: PoolLink] = [:]
    var owners: [PoolTicket: Int] = [:]
    var lates: [PoolTicket: Int] = [:]
    var ends: [PushEnd?] = []
    var deadlines: [Instant] = []
    var accepted: [Int] = []
    var lateAnswers: Set<Int> = []
    var connects: [Instant] = []
    var faults: Set<String> = []
    var isCalm = false
    let lateMilliseconds: Int

    init(seed: Int, mutant: PoolMutant? = nil) {
        random = SeededGenerator(seed)
        self.mutant = mutant
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.below(4)
        settings.streamsPerConnectionMax = 1 + random.below(20)
        settings.waitingMax = 1 + random.below(60)
        settings.requestsPerConnectionMax = [20, 200, 1_000_000][random.below(3)]
        settings.recycleMilliseconds = [1_000...3_000, 60_000...120_000][random.below(2)]
        settings.keptMilliseconds = [0, 5_000][random.below(2)]
        lateMilliseconds = [0, 700][random.below(2)]
        settings.lateAnswerMilliseconds = lateMilliseconds
        pool = Pool(settings, seed: random.next())
    }

    // MARK: The owner

    mutating func step() {
        switch random.below(12) {
        case 0...2: submit()
        case 3...5: arrive()
        case 6, 7: hear()
        case 8: misbehave()
        case 9: pass(milliseconds: 1 + random.below(80))
        case 10: pass(milliseconds: 200 + random.below(2_000))
        default: withdraw()
        }
        send()
    }

    private mutating func submit() {
        for _ in 0..<(1 + random.below(12)) {
            let deadline = now.advanced(byMilliseconds: 50 + random.below(6_000))
            let isFull = pool.waitingCount + pool.restingCount >= pool.settings.waitingMax
            guard let ticket = pool.submit(deadline: deadline, at: now) else {
                if !isFull { faults.insert("refused a request without need") }
                return
            }
            if isFull { faults.insert("took a request beyond waitingMax") }
            owners[ticket] = ends.count
            ends.append(nil)
            deadlines.append(deadline)
            accepted.append(0)
        }
    }

    private mutating func withdraw() {
        guard let ticket = owners.keys.min(by: { $0.tag < $1.tag }), pool.withdraw(ticket) else { return }
        end(ticket, .withdrawn)
    }

    mutating func send() {
        while let next = pool.nextSend(at: now) {
            guard var link = links[next.connection] else {
                faults.insert("sent over a connection that is not there")
                return
            }
            if let fault = link.faultOfSending(mutant) { faults.insert(fault) }
            guard let owner = owners[next.ticket] else {
                faults.insert("sent a request that had ended")
                return
            }
            guard link.takesMore else {
                links[next.connection]?.isFull = true
                pool.notTaken(next.ticket)
                continue
            }
            link.send(next.ticket, owner, deadlines[owner])
            links[next.connection] = link
        }
    }

    mutating func end(_ ticket: PoolTicket, _ end: PushEnd) {
        guard let owner = owners.removeValue(forKey: ticket) else {
            faults.insert("a request that nobody has ended")
            return
        }
        if ends[owner] != nil { faults.insert("ended twice") }
        ends[owner] = end
        switch end {
        case .notProcessed, .withdrawn:
            if accepted[owner] > 0 { faults.insert("accepted, but called unprocessed") }
        case .unknown(.overdue): lates[ticket] = owner
        case .unknown, .answered: break
        }
    }

    // MARK: Time

    mutating func pass(milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        for number in links.keys.sorted() { expire(number) }
        let isBudgeted = mutant != .ignoresBudget
        pool.tick(at: now) { isFirst in
            budget.take(isFirst: isFirst, at: now) || !isBudgeted
        }
        act()
    }

    private mutating func act() {
        for action in pool.takeActions() {
            switch action {
            case .connect(let number):
                if let last = connects.last, now.milliseconds(since: last) < 1_000 {
                    faults.insert("connects more often than the budget allows")
                }
                connects.append(now)
                links[number] = PoolLink(number, unsentMax: [.max, 1 + random.below(4)][random.below(2)])
            case .ping(let number): links[number]?.ping()
            case .finish(let number), .close(let number): close(number)
            case .end(let ticket, let end): self.end(ticket, end)
            }
        }
    }

    /// What the session underneath does on its own when deadlines pass.
    private mutating func expire(_ number: UInt32) {
        guard let streams = links[number]?.streams else { return }
        for (id, stream) in streams.sorted(by: { $0.key < $1.key }) where stream.deadline <= now {
            let isGivenUp = now.milliseconds(since: stream.deadline) >= lateMilliseconds
            if !stream.isReported { outcome(number, stream.ticket, .overdue(hasLeft: stream.hasLeft)) }
            links[number]?.streams[id]?.isReported = true
            if isGivenUp || !stream.hasLeft { links[number]?.forget(id) }
        }
    }

    func settled() -> Bool { pool.isQuiet && owners.isEmpty }

    // MARK: Outcomes

    mutating func outcome(_ number: UInt32, _ ticket: PoolTicket, _ outcome: PoolOutcome) {
        var outcome = outcome
        if mutant == .lostIsUnprocessed, outcome == .connectionLost { outcome = .notProcessed }
        if mutant == .losesResets, case .reset = outcome { return }
        switch pool.ended(ticket, outcome, at: now) {
        case .ended(let end):
            self.end(ticket, end)
            if mutant == .endsTwice { self.end(ticket, end) }
        case .late:
            guard let owner = lates.removeValue(forKey: ticket) else {
                faults.insert("late, but not overdue before")
                return
            }
            if !lateAnswers.insert(owner).inserted { faults.insert("late twice") }
        case .again, .stale: break
        }
    }

    mutating func close(_ number: UInt32) {
        guard let link = links.removeValue(forKey: number) else { return }
        // What is in the server's hands it may still take, unseen.
        for frame in link.toServer where random.below(2) == 0 { accept(frame.owner, link, frame.stream) }
        for stream in link.streams.values.sorted(by: { $0.ticket.tag < $1.ticket.tag })
        where !stream.isReported {
            outcome(number, stream.ticket, stream.hasLeft ? .connectionLost : .notProcessed)
        }
        pool.closed(number, at: now)
        act()
    }

    mutating func accept(_ owner: Int, _ link: PoolLink, _ stream: Int) {
        guard stream <= link.goawayLast, link.streams[stream]?.hasLeft != false else { return }
        accepted[owner] += 1
        if accepted[owner] > 1 { faults.insert("accepted twice") }
        switch ends[owner] {
        case .notProcessed, .withdrawn: faults.insert("accepted, but called unprocessed")
        case nil, .answered, .unknown: break
        }
    }
}
