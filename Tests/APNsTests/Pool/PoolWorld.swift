import Lifecycle
import Simulation

@testable import APNs

/// A pool, its sessions and their server, as values. Frames take time in both directions. The server does
/// anything that the protocol permits. The world checks every promise of the pool from outside.
struct PoolWorld {
    /// The owner's view of one request.
    struct Owned {
        var limits: PushDeadlines
        /// Position among the requests that were never sent. Nil once it was sent.
        var place: Int?
        var end: PushEnd?
        var accepted = 0
        /// Number of times that it was sent again because of an answer.
        var moves = 0
    }

    var random: SeededGenerator
    let mutant: PoolMutant?
    var pool: PoolStateMachine
    var budget = ConnectBudget()
    var now = Instant(nanoseconds: 0)
    var links: [UInt32: PoolLink] = [:]
    var owners: [PoolTicket: Int] = [:]
    var lates: [PoolTicket: Int] = [:]
    var owned: [Int: Owned] = [:]
    private var lastOwner = 0
    private var lastPlace = 0
    private var unsentPlaces: Set<Int> = []
    var lateAnswers = 0
    var latesOver = 0
    var connects: [Instant] = []
    var faults: Set<String> = []
    var isCalm = false
    /// Whether the server never answers a connect.
    var isBlackHole = false
    /// The pool's number in the budget, if several pools share one.
    var asker: UInt64 = 1

    var ends: [PushEnd?] { owned.keys.sorted().map { owned[$0]?.end } }
    private var lateMilliseconds: Int { pool.settings.lateAnswerMilliseconds }

    init(seed: Int, mutant: PoolMutant? = nil) {
        random = SeededGenerator(seed: seed)
        self.mutant = mutant
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.number(below: 4)
        settings.streamsPerConnectionMax = 1 + random.number(below: 20)
        settings.waitingMax = 1 + random.number(below: 60)
        settings.requestsMax = settings.waitingMax + random.number(below: 80)
        settings.requestsPerConnectionMax = [20, 200, 1_000_000][random.number(below: 3)]
        settings.recycleMilliseconds = [1_000...3_000, 60_000...120_000][random.number(below: 2)]
        settings.idleConnectionMilliseconds = [0, 5_000][random.number(below: 2)]
        settings.lateAnswerMilliseconds = [0, 700][random.number(below: 2)]
        settings.consecutiveOverduesMax = 1 + random.number(below: 5)
        settings.backoffMilliseconds = 500...5_000
        pool = PoolStateMachine(settings: settings, seed: random.next())
    }

    // MARK: The owner

    mutating func step() {
        switch random.number(below: 13) {
        case 0...2: submit()
        case 3...5: arrive()
        case 6, 7: hear()
        case 8: misbehave()
        case 9: pass(milliseconds: 1 + random.number(below: 80))
        case 10: pass(milliseconds: 200 + random.number(below: 2_000))
        case 11: withdraw()
        default: rare()
        }
        send()
    }

    private mutating func rare() {
        switch random.number(below: 40) {
        case 0: stop()
        case 1: withdrawAll()
        case 2 where pool.isStopped: closeAll()
        default: break
        }
    }

    private func limits() -> (inout SeededGenerator) -> PushDeadlines {
        { [now] random in
            let deadline = now.advanced(byMilliseconds: 50 + random.number(below: 6_000))
            let leaveBy = now.advanced(byMilliseconds: 50 + random.number(below: 6_000))
            return PushDeadlines(sendBy: leaveBy, deadline: deadline, attempts: 1 + random.number(below: 4))
        }
    }

    private mutating func submit() {
        for _ in 0..<(1 + random.number(below: 12)) { _ = submit(limits()(&random)) }
    }

    /// Returns the new request, or nil if it was refused.
    mutating func submit(_ limits: PushDeadlines) -> Int? {
        let room = pool.capacity
        do {
            let ticket = try pool.submit(sendBy: limits.sendBy, attempts: limits.attempts, at: now)
            if room == 0 { faults.insert("took a request although it was full") }
            lastPlace += 1
            let owner = own(ticket, limits, place: lastPlace)
            if owners.count > pool.settings.requestsMax { faults.insert("more requests than requestsMax") }
            return owner
        } catch {
            if room > 0 { faults.insert("refused a request although it was not full") }
            if (error == .stopped) != pool.isStopped { faults.insert("the wrong reason for a refusal") }
            return nil
        }
    }

    private mutating func own(_ ticket: PoolTicket, _ limits: PushDeadlines, place: Int) -> Int {
        lastOwner += 1
        owners[ticket] = lastOwner
        owned[lastOwner] = Owned(limits: limits, place: place)
        unsentPlaces.insert(place)
        return lastOwner
    }

    private var oldest: PoolTicket? { owners.keys.min { $0.tag < $1.tag } }

    private mutating func withdraw() {
        guard let ticket = oldest else { return }
        if pool.withdraw(ticket) { return end(ticket, .withdrawn) }
        // The session withdraws a request that it has not sent.
        guard let number = pool.connection(of: ticket), let link = links[number],
            let (id, stream) = link.streams.first(where: { $0.value.ticket == ticket && !$0.value.isReported }
            ),
            !stream.hasLeft
        else { return }
        links[number]?.streams[id]?.isReported = true
        links[number]?.streams[id]?.isGivenUp = true
        outcome(number, ticket, .withdrawn)
    }

    private mutating func withdrawAll() {
        for ticket in pool.takeWaiting() { end(ticket, .withdrawn) }
        if pool.waitingCount + pool.backingOffCount > 0 { faults.insert("something still waits") }
    }

    mutating func stop() {
        pool.stop(at: now)
        act()
        let waiting = owners.keys.contains { pool.connection(of: $0) == nil }
        if waiting { faults.insert("a pool that stopped leaves a request waiting") }
    }

    /// Handles the deadline of the stop.
    mutating func closeAll() {
        pool.closeAll()
        act()
        if !owners.isEmpty || !lates.isEmpty { faults.insert("a pool that closed has left a request open") }
        if !links.isEmpty { faults.insert("a connection is left") }
    }

    // MARK: Sending

    mutating func send() {
        while let next = pool.nextSend(at: now) {
            act()
            guard var link = links[next.connection] else {
                faults.insert("sent over a connection that does not exist")
                return
            }
            guard let owner = owners[next.ticket], let known = owned[owner] else {
                faults.insert("sent a request that had ended")
                return
            }
            if let fault = link.faultOfSending(pool.settings, at: now) { faults.insert(fault) }
            if known.limits.sendBy <= now { faults.insert("sent a request after its time to leave") }
            left(owner)
            guard link.takesMore else {
                links[next.connection]?.isFull = true
                pool.requeueUnsent(next.ticket)
                continue
            }
            link.send(next.ticket, owner, known.limits)
            links[next.connection] = link
        }
        act()
    }

    /// Checks that requests are sent for the first time in the order of their positions.
    private mutating func left(_ owner: Int) {
        guard let place = owned[owner]?.place else { return }
        if unsentPlaces.min() != place { faults.insert("one request has overtaken another") }
        unsentPlaces.remove(place)
        owned[owner]?.place = nil
    }

    // MARK: Ends

    mutating func end(_ ticket: PoolTicket, _ end: PushEnd) {
        guard let owner = owners.removeValue(forKey: ticket), let known = owned[owner] else {
            faults.insert("ended a request that is not open")
            return
        }
        if known.end != nil { faults.insert("ended twice") }
        owned[owner]?.end = end
        if let place = known.place { unsentPlaces.remove(place) }
        switch end {
        case .notProcessed, .withdrawn:
            if known.accepted > 0 { faults.insert("accepted, but called unprocessed") }
        case .unknown(.overdue): lates[ticket] = owner
        case .unknown, .answered: break
        }
    }

    mutating func outcome(_ number: UInt32, _ ticket: PoolTicket, _ outcome: PoolOutcome) {
        var outcome = outcome
        if mutant == .lostIsUnprocessed, outcome == .connectionLost { outcome = .notProcessed }
        if mutant == .losesResets, case .reset = outcome { return }
        if case .overdue = outcome { links[number]?.overdues += 1 }
        let verdict = pool.end(ticket, with: outcome, at: now)
        if case .answered = outcome, verdict == .retry, let owner = owners[ticket] {
            owned[owner]?.moves += 1
            if let known = owned[owner], known.moves >= known.limits.attempts {
                faults.insert("tried more often than allowed")
            }
        }
        settle(ticket, verdict)
    }

    /// Handles a closed stream whose request was already reported.
    mutating func freed(_ number: UInt32, _ ticket: PoolTicket) {
        if mutant == .losesFreed { return }
        settle(ticket, pool.handleFreedStream(of: ticket, on: number))
    }

    private mutating func settle(_ ticket: PoolTicket, _ verdict: PoolVerdict) {
        switch verdict {
        case .ended(let end):
            self.end(ticket, end)
            if mutant == .endsTwice { self.end(ticket, end) }
        case .lateAnswer: lateOver(ticket, isAnswer: true)
        case .noLateAnswer: lateOver(ticket, isAnswer: false)
        case .retry where pool.isStopped: faults.insert("requeued in a stopped pool")
        case .retry, .stale: break
        }
    }

    private mutating func lateOver(_ ticket: PoolTicket, isAnswer: Bool) {
        if lates.removeValue(forKey: ticket) == nil { faults.insert("late twice, or not overdue before") }
        if isAnswer { lateAnswers += 1 } else { latesOver += 1 }
    }

    mutating func close(_ number: UInt32) {
        guard let link = links.removeValue(forKey: number) else { return }
        // The server may still accept, unseen, the requests that it has received.
        for frame in link.toServer where random.number(below: 2) == 0 { accept(frame, link) }
        for stream in link.streams.values.sorted(by: { $0.ticket.tag < $1.ticket.tag }) {
            if stream.isReported {
                freed(number, stream.ticket)
            } else {
                outcome(number, stream.ticket, stream.hasLeft ? .connectionLost : .notProcessed)
            }
        }
        pool.handleClose(of: number, at: now)
        act()
    }

    mutating func accept(_ frame: PoolLink.Frame, _ link: PoolLink) {
        guard frame.stream <= link.goawayLast, link.streams[frame.stream]?.hasLeft != false,
            let known = owned[frame.owner]
        else { return }
        owned[frame.owner]?.accepted += 1
        if known.accepted > 0 { faults.insert("accepted twice") }
        switch known.end {
        case .notProcessed, .withdrawn: faults.insert("accepted, but called unprocessed")
        case nil, .answered, .unknown: break
        }
    }

    // MARK: Time

    mutating func pass(milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        for number in links.keys.sorted() { expire(number) }
        let isBudgeted = mutant != .ignoresBudget
        let asker = asker
        pool.tick(at: now) { ask in budget.take(for: asker, request: ask, at: now) || !isBudgeted }
        act()
    }

    mutating func act() {
        for action in pool.takeActions() {
            switch action {
            case .connect(let number):
                if let last = connects.last, now.milliseconds(since: last) < 1_000 {
                    faults.insert("connects more often than the budget allows")
                }
                connects.append(now)
                links[number] = PoolLink(
                    number,
                    unsentMax: isCalm ? .max : [.max, 1 + random.number(below: 4)][random.number(below: 2)],
                    pool.settings)
            case .ping(let number): links[number]?.ping()
            case .finish(let number), .close(let number): close(number)
            case .end(let ticket, let end): self.end(ticket, end)
            case .noLateAnswer(let ticket): lateOver(ticket, isAnswer: false)
            }
        }
    }

    /// Applies deadlines, as the session does by itself.
    private mutating func expire(_ number: UInt32) {
        guard let streams = links[number]?.streams else { return }
        for (id, stream) in streams.sorted(by: { $0.key < $1.key }) where !stream.isGivenUp {
            let limits = stream.limits
            guard limits.deadline <= now || !stream.hasLeft && limits.sendBy <= now else { continue }
            let isGivenUp = now.milliseconds(since: limits.deadline) >= lateMilliseconds || !stream.hasLeft
            links[number]?.streams[id]?.isReported = true
            links[number]?.streams[id]?.isGivenUp = isGivenUp
            if !stream.isReported { outcome(number, stream.ticket, .overdue(hasLeft: stream.hasLeft)) }
        }
    }
}
