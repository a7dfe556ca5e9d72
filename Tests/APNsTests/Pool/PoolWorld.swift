import Lifecycle
import Simulation

@testable import APNs

/// A simulation of a pool, its connections (`PoolLink`) and their server, all as values. Frames take time in both
/// directions, and the server does anything that the protocol permits. The world checks the rules of the pool from
/// outside, and collects the broken ones in `brokenRules`. `PoolServer.swift` has the server's part.
///
/// A test calls `takeRandomStep` often, and then `settle`. The pool is owned by a sender, which submits and withdraws
/// requests. Each request has a number here and a ticket in the pool.
struct PoolWorld {
    /// A request as its owner knows it.
    struct OwnedRequest {
        var deadlines: PushDeadlines
        /// Position among the requests that were never sent. Nil once it was sent.
        var position: Int?
        var end: PushEnd?
        /// Number of times that the server accepted it.
        var acceptedCount = 0
        /// Number of times that it was sent again because of an answer.
        var retries = 0
    }

    var random: SeededGenerator
    let mutant: PoolMutant?
    var pool: PoolStateMachine
    var budget = ConnectBudget()
    var now = Instant(nanoseconds: 0)
    /// The most connections of a pool in any history.
    static let connectionsMax = 4

    /// The connections, by the pool's number for them.
    var links: [UInt32: PoolLink] = [:]
    /// The requests without an end, by the pool's ticket.
    var openRequests: [PoolTicket: Int] = [:]
    /// The overdue requests for which the pool still has to report a late answer or its absence.
    var overdueRequests: [PoolTicket: Int] = [:]
    /// All requests by their number.
    var requests: [Int: OwnedRequest] = [:]
    private var lastRequest = 0
    private var lastPosition = 0
    /// The positions of requests that were never sent.
    private var unsentPositions: Set<Int> = []
    /// Number of overdue requests that got an answer later.
    var lateAnswerCount = 0
    /// Number of overdue requests for which the pool reported that no answer will follow.
    var missingAnswerCount = 0
    /// The time of each connect.
    var connects: [Instant] = []
    /// The rules that the pool broke, in words.
    var brokenRules: Set<String> = []
    /// Whether the server behaves well.
    var isCalm = false
    /// Whether the server never answers a connect.
    var isBlackHole = false
    /// The pool's number in the budget, if several pools share one.
    var poolNumber: UInt64 = 1

    var ends: [PushEnd?] { requests.keys.sorted().map { requests[$0]?.end } }
    private var lateMilliseconds: Int { pool.settings.lateAnswerMilliseconds }

    init(seed: Int, mutant: PoolMutant? = nil) {
        random = SeededGenerator(seed: seed)
        self.mutant = mutant
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.number(below: Self.connectionsMax)
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

    /// Does one random thing to the pool.
    mutating func takeRandomStep() {
        switch random.number(below: 13) {
        case 0...2: submit()
        case 3...5: serveRandomLink()
        case 6, 7: readRandomLink()
        case 8: misbehave()
        case 9: pass(milliseconds: 1 + random.number(below: 80))
        case 10: pass(milliseconds: 200 + random.number(below: 2_000))
        case 11: withdraw()
        default: takeRareStep()
        }
        send()
    }

    private mutating func takeRareStep() {
        switch random.number(below: 40) {
        case 0: stop()
        case 1: withdrawAll()
        case 2 where pool.isStopped: closeAll()
        default: break
        }
    }

    private mutating func randomDeadlines() -> PushDeadlines {
        let deadline = now.advanced(byMilliseconds: 50 + random.number(below: 6_000))
        let sendBy = now.advanced(byMilliseconds: 50 + random.number(below: 6_000))
        return PushDeadlines(sendBy: sendBy, deadline: deadline, attempts: 1 + random.number(below: 4))
    }

    private mutating func submit() {
        for _ in 0..<(1 + random.number(below: 12)) { _ = submit(randomDeadlines()) }
    }

    /// Submits a request, and returns its number, or nil if it was refused.
    mutating func submit(_ deadlines: PushDeadlines) -> Int? {
        let capacity = pool.capacity
        do {
            let ticket = try pool.submit(sendBy: deadlines.sendBy, attempts: deadlines.attempts, at: now)
            if capacity == 0 { brokenRules.insert("took a request although it was full") }
            lastPosition += 1
            let request = addRequest(ticket: ticket, deadlines: deadlines, position: lastPosition)
            if openRequests.count > pool.settings.requestsMax {
                brokenRules.insert("more requests than requestsMax")
            }
            return request
        } catch {
            if capacity > 0 { brokenRules.insert("refused a request although it was not full") }
            if (error == .stopped) != pool.isStopped { brokenRules.insert("the wrong reason for a refusal") }
            return nil
        }
    }

    private mutating func addRequest(ticket: PoolTicket, deadlines: PushDeadlines, position: Int) -> Int {
        lastRequest += 1
        openRequests[ticket] = lastRequest
        requests[lastRequest] = OwnedRequest(deadlines: deadlines, position: position)
        unsentPositions.insert(position)
        return lastRequest
    }

    /// The open request that was submitted first.
    private var oldestTicket: PoolTicket? { openRequests.keys.min { $0.tag < $1.tag } }

    private mutating func withdraw() {
        guard let ticket = oldestTicket else { return }
        if pool.withdraw(ticket) { return end(ticket, with: .withdrawn) }
        // The session withdraws a request that it has not sent.
        guard let number = pool.connection(of: ticket), let link = links[number] else { return }
        let unreported = link.streams.first { $0.value.ticket == ticket && !$0.value.isReported }
        guard let (id, stream) = unreported, !stream.isSent else { return }
        links[number]?.streams[id]?.isReported = true
        links[number]?.streams[id]?.isGivenUp = true
        report(.withdrawn, of: ticket, on: number)
    }

    private mutating func withdrawAll() {
        for ticket in pool.takeWaiting() { end(ticket, with: .withdrawn) }
        if pool.waitingCount + pool.backingOffCount > 0 { brokenRules.insert("something still waits") }
    }

    mutating func stop() {
        pool.stop(at: now)
        act()
        let waiting = openRequests.keys.contains { pool.connection(of: $0) == nil }
        if waiting { brokenRules.insert("a pool that stopped leaves a request waiting") }
    }

    /// Handles the deadline of the stop.
    mutating func closeAll() {
        pool.closeAll()
        act()
        if !openRequests.isEmpty || !overdueRequests.isEmpty {
            brokenRules.insert("a pool that closed has left a request open")
        }
        if !links.isEmpty { brokenRules.insert("a connection is left") }
    }

    // MARK: Sending

    /// Lets the pool send as many requests as it will, and checks each.
    mutating func send() {
        while let next = pool.nextSend(at: now) {
            act()
            guard var link = links[next.connection] else {
                brokenRules.insert("sent over a connection that does not exist")
                return
            }
            guard let request = openRequests[next.ticket], let known = requests[request] else {
                brokenRules.insert("sent a request that had ended")
                return
            }
            if let rule = link.ruleBrokenBySending(with: pool.settings, at: now) { brokenRules.insert(rule) }
            if known.deadlines.sendBy <= now { brokenRules.insert("sent a request whose sendBy had passed") }
            noteFirstSend(of: request)
            guard link.takesMore else {
                links[next.connection]?.isFull = true
                pool.requeueUnsent(next.ticket)
                continue
            }
            link.send(next.ticket, request: request, deadlines: known.deadlines)
            links[next.connection] = link
        }
        act()
    }

    /// Checks that requests are sent for the first time in the order of their positions.
    private mutating func noteFirstSend(of request: Int) {
        guard let position = requests[request]?.position else { return }
        if unsentPositions.min() != position { brokenRules.insert("one request has overtaken another") }
        unsentPositions.remove(position)
        requests[request]?.position = nil
    }

    // MARK: Ends

    /// Ends a request, and checks that its end is true.
    mutating func end(_ ticket: PoolTicket, with end: PushEnd) {
        guard let request = openRequests.removeValue(forKey: ticket), let known = requests[request] else {
            brokenRules.insert("ended a request that is not open")
            return
        }
        if known.end != nil { brokenRules.insert("ended twice") }
        requests[request]?.end = end
        if let position = known.position { unsentPositions.remove(position) }
        switch end {
        case .notProcessed, .withdrawn:
            if known.acceptedCount > 0 { brokenRules.insert("accepted, but called unprocessed") }
        case .unknown(.overdue): overdueRequests[ticket] = request
        case .unknown, .answered: break
        }
    }

    /// Reports the outcome of a request on a connection to the pool.
    mutating func report(_ outcome: PoolOutcome, of ticket: PoolTicket, on number: UInt32) {
        var outcome = outcome
        if mutant == .lostIsUnprocessed, outcome == .connectionLost { outcome = .notProcessed }
        if mutant == .losesResets, case .reset = outcome { return }
        if case .overdue = outcome { links[number]?.overdues += 1 }
        let verdict = pool.end(ticket, with: outcome, at: now)
        if case .answered = outcome, verdict == .retry, let request = openRequests[ticket] {
            requests[request]?.retries += 1
            if let known = requests[request], known.retries >= known.deadlines.attempts {
                brokenRules.insert("tried more often than allowed")
            }
        }
        apply(verdict, to: ticket)
    }

    /// Handles a closed stream whose request was already reported.
    mutating func reportFreedStream(of ticket: PoolTicket, on number: UInt32) {
        if mutant == .losesFreed { return }
        apply(pool.handleFreedStream(of: ticket, on: number), to: ticket)
    }

    private mutating func apply(_ verdict: PoolVerdict, to ticket: PoolTicket) {
        switch verdict {
        case .ended(let end):
            self.end(ticket, with: end)
            if mutant == .endsTwice { self.end(ticket, with: end) }
        case .lateAnswer: endOverdue(ticket, isAnswered: true)
        case .noLateAnswer: endOverdue(ticket, isAnswered: false)
        case .retry where pool.isStopped: brokenRules.insert("requeued in a stopped pool")
        case .retry, .stale: break
        }
    }

    private mutating func endOverdue(_ ticket: PoolTicket, isAnswered: Bool) {
        if overdueRequests.removeValue(forKey: ticket) == nil {
            brokenRules.insert("late twice, or not overdue before")
        }
        if isAnswered { lateAnswerCount += 1 } else { missingAnswerCount += 1 }
    }

    /// Closes a connection, and reports the outcomes of its streams.
    mutating func close(_ number: UInt32) {
        guard let link = links.removeValue(forKey: number) else { return }
        // The server may still accept, unseen, the requests that it has received.
        for frame in link.toServer where random.number(below: 2) == 0 { accept(frame, on: link) }
        for stream in link.streams.values.sorted(by: { $0.ticket.tag < $1.ticket.tag }) {
            if stream.isReported {
                reportFreedStream(of: stream.ticket, on: number)
            } else {
                report(stream.isSent ? .connectionLost : .notProcessed, of: stream.ticket, on: number)
            }
        }
        pool.handleClose(of: number, at: now)
        act()
    }

    /// Lets the server accept a request.
    mutating func accept(_ frame: PoolLink.Frame, on link: PoolLink) {
        guard frame.stream <= link.goawayLast, link.streams[frame.stream]?.isSent != false,
            let known = requests[frame.request]
        else { return }
        requests[frame.request]?.acceptedCount += 1
        if known.acceptedCount > 0 { brokenRules.insert("accepted twice") }
        switch known.end {
        case .notProcessed, .withdrawn: brokenRules.insert("accepted, but called unprocessed")
        case nil, .answered, .unknown: break
        }
    }

    // MARK: Time

    /// Lets time pass for the sessions and for the pool.
    mutating func pass(milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        for number in links.keys.sorted() { expire(number) }
        let ignoresBudget = mutant == .ignoresBudget
        let poolNumber = poolNumber
        pool.tick(at: now) { request in
            let isGranted = budget.take(for: poolNumber, request: request, at: now)
            return isGranted || ignoresBudget
        }
        act()
    }

    /// Carries out the actions of the pool.
    mutating func act() {
        for action in pool.takeActions() {
            switch action {
            case .connect(let number):
                if let last = connects.last, now.milliseconds(since: last) < 1_000 {
                    brokenRules.insert("connects more often than the budget allows")
                }
                connects.append(now)
                let unsentMax =
                    isCalm ? .max : [.max, 1 + random.number(below: 4)][random.number(below: 2)]
                links[number] = PoolLink(number: number, unsentMax: unsentMax, settings: pool.settings)
            case .ping(let number): links[number]?.ping()
            case .finish(let number), .close(let number): close(number)
            case .end(let ticket, let end): self.end(ticket, with: end)
            case .noLateAnswer(let ticket): endOverdue(ticket, isAnswered: false)
            }
        }
    }

    /// Applies deadlines, as the session does by itself.
    private mutating func expire(_ number: UInt32) {
        guard let streams = links[number]?.streams else { return }
        for (id, stream) in streams.sorted(by: { $0.key < $1.key }) where !stream.isGivenUp {
            let deadlines = stream.deadlines
            let isTooLateToSend = !stream.isSent && deadlines.sendBy <= now
            guard deadlines.deadline <= now || isTooLateToSend else { continue }
            let isGivenUp = now.milliseconds(since: deadlines.deadline) >= lateMilliseconds || !stream.isSent
            links[number]?.streams[id]?.isReported = true
            links[number]?.streams[id]?.isGivenUp = isGivenUp
            if !stream.isReported {
                report(.overdue(mayHaveBeenSent: stream.isSent), of: stream.ticket, on: number)
            }
        }
    }
}
