internal import Containers
package import Lifecycle

/// The connections and requests of one app in one environment. The pool decides which connection each request
/// uses, when connections are opened, pinged, replaced and closed, and how a request without an answer ends.
/// It has no socket, no clock and no thread: it takes events with their times and returns actions.
///
/// A request ends exactly once, with `.ended` or `.end`. After `unknown(.overdue)` exactly one `.late` or
/// `.lateOver` follows, and then its token is free again.
package struct PoolStateMachine {
    package let settings: PoolSettings
    var jitter: Jitter
    var backoff: Backoff

    var requests: [PoolRequest] = []
    private var freeSlots: [Int32] = []
    /// Requests that are sent again. They go before new requests. A ticket whose request has ended is stale. It stays until
    /// it reaches the head or the pool sweeps the queue.
    var again = FIFOQueue<PoolTicket>()
    var waiting = FIFOQueue<PoolTicket>()
    /// Number of requests in each phase that the sweeps look for.
    var waitingCount = 0
    var backingOffCount = 0
    var lateCount = 0

    var connections: [PoolConnection] = []
    private var run = SendRun()
    private var lastNumber: UInt32 = 0
    var usedAt: Instant?
    /// Time at which the last connection was opened.
    var connectedAt: Instant?
    package internal(set) var isStopped = false
    var actions: [PoolAction] = []

    /// Number of requests at one moment that use one connection before the pool looks for the least loaded
    /// one again.
    private static let requestsPerRun = 32

    /// A request and the connection that it must use.
    package typealias Send = (ticket: PoolTicket, connection: UInt32)

    private struct SendRun {
        var index = 0
        var number: UInt32 = 0
        var left = 0
        var at = Instant(nanoseconds: 0)
    }

    package init(settings: PoolSettings, seed: UInt64) {
        self.settings = settings
        jitter = Jitter(seed: seed)
        backoff = Backoff(milliseconds: settings.backoffMilliseconds)
    }

    /// Number of requests that have not ended.
    package var openRequests: Int { requests.count - freeSlots.count - lateCount }
    package var waitingRequests: Int { waitingCount }
    package var hasQueuedRequests: Bool { !again.isEmpty || !waiting.isEmpty }
    /// Whether no request is open, late, resting or queued.
    package var isIdle: Bool { freeSlots.count == requests.count }

    // MARK: Requests

    /// Number of requests that the pool can take now.
    package var capacity: Int {
        guard !isStopped else { return 0 }
        let freeStreams = connections.reduce(0) { $0 + max(0, $1.freeStreams) }
        let waits = settings.waitingMax + freeStreams - waitingCount - backingOffCount
        return max(0, min(settings.requestsMax - openRequests, waits))
    }

    /// Whether no connection was open yet, and none has failed.
    package var isConnecting: Bool {
        backoff.failures == 0 && !connections.contains { $0.phase == .open || $0.phase == .retiring }
    }

    /// Takes a request, or throws the reason why it cannot.
    package mutating func submit(
        sendBy: Instant, attempts: Int = PushDeadlines.attemptsDefault, at now: Instant
    ) throws(PushRefusal) -> PoolTicket {
        guard !isStopped else { throw .stopped }
        // This cheap check, which does not look at the connections, nearly always decides.
        let isPlenty =
            waitingCount + backingOffCount < settings.waitingMax && openRequests < settings.requestsMax
        guard isPlenty || capacity > 0 else { throw .full }
        usedAt = now
        let index = takeSlot()
        requests[Int(index)].begin(sendBy: sendBy, attempts: attempts)
        let ticket = PoolTicket(index: index, generation: requests[Int(index)].generation)
        waitingCount += 1
        waiting.append(ticket)
        return ticket
    }

    /// Returns the next request that has a connection. The caller sends it or calls `notTaken`. Requests
    /// whose time to leave has passed end here, so the caller must look at the actions.
    package mutating func nextSend(at now: Instant) -> Send? {
        while let ticket = again.first ?? waiting.first {
            let isAgain = !again.isEmpty
            guard isCurrent(ticket), requests[Int(ticket.index)].phase == .waiting else {
                dequeue(isRetry: isAgain)
                continue
            }
            guard now < requests[Int(ticket.index)].sendBy else {
                dequeue(isRetry: isAgain)
                endUnsent(ticket)
                continue
            }
            let avoided = requests[Int(ticket.index)].connection
            guard let chosen = chooseConnection(avoiding: avoided, at: now) else { return nil }
            dequeue(isRetry: isAgain)
            waitingCount -= 1
            requests[Int(ticket.index)].phase = .open
            requests[Int(ticket.index)].connection = connections[chosen].number
            connections[chosen].liveStreams += 1
            connections[chosen].requestsLeft -= 1
            return (ticket, connections[chosen].number)
        }
        return nil
    }

    private mutating func dequeue(isRetry isAgain: Bool) {
        if isAgain { again.removeFirst() } else { waiting.removeFirst() }
    }

    /// Requeues a request that the session could not take. The connection takes no requests until its next
    /// event.
    package mutating func requeueUnsent(_ ticket: PoolTicket) {
        guard isCurrent(ticket), requests[Int(ticket.index)].phase == .open else { return }
        if let index = index(of: requests[Int(ticket.index)].connection) {
            connections[index].liveStreams -= 1
            connections[index].requestsLeft += 1
            connections[index].isBlocked = true
        }
        requeue(ticket)
    }

    /// Ends a waiting request whose time to leave has passed.
    mutating func endUnsent(_ ticket: PoolTicket) {
        waitingCount -= 1
        let fault: PushFault = requests[Int(ticket.index)].refusals > 0 ? .refused : .noConnection
        release(ticket.index)
        actions.append(.end(ticket, .notProcessed(fault)))
    }

    /// Withdraws a request that has not been sent. Returns false if it was sent or has ended.
    package mutating func withdraw(_ ticket: PoolTicket) -> Bool {
        guard isCurrent(ticket) else { return false }
        switch requests[Int(ticket.index)].phase {
        case .waiting: waitingCount -= 1
        case .backingOff: backingOffCount -= 1
        case .free, .open, .late: return false
        }
        release(ticket.index)
        return true
    }

    /// Removes and returns all requests that wait or rest, for a reason outside the pool.
    package mutating func takeWaiting() -> [PoolTicket] {
        var taken: [PoolTicket] = []
        for index in requests.indices {
            let ticket = PoolTicket(index: Int32(index), generation: requests[index].generation)
            if withdraw(ticket) { taken.append(ticket) }
        }
        while let next = again.first ?? waiting.first, !isCurrent(next) { dequeue(isRetry: !again.isEmpty) }
        return taken
    }

    /// Returns the connection that carries the request.
    package func connection(of ticket: PoolTicket) -> UInt32? {
        isCurrent(ticket) && requests[Int(ticket.index)].phase == .open
            ? requests[Int(ticket.index)].connection : nil
    }

    /// Uses the same connection for a run of requests, so that their frames are built and sent together.
    private mutating func chooseConnection(avoiding avoided: UInt32, at now: Instant) -> Int? {
        if run.left > 0, run.at == now, run.number != avoided, run.index < connections.count,
            connections[run.index].number == run.number, connections[run.index].freeStreams > 0
        {
            run.left -= 1
            return run.index
        }
        guard let index = leastLoaded(avoiding: avoided, at: now) else { return nil }
        run = SendRun(
            index: index, number: connections[index].number, left: PoolStateMachine.requestsPerRun - 1,
            at: now)
        return index
    }

    /// Returns the least loaded connection with a free stream. Returns a stalled connection only if there is
    /// no other.
    private func leastLoaded(avoiding avoided: UInt32, at now: Instant) -> Int? {
        var best: Int?
        var bestLoad = Int.max
        for index in connections.indices {
            let connection = connections[index]
            guard connection.freeStreams > 0 else { continue }
            var load = connection.streams
            if connection.isStalled(settings: settings, at: now) { load += 1_000_000 }
            if connection.number == avoided { load += 2_000_000 }
            if load < bestLoad {
                best = index
                bestLoad = load
            }
        }
        return best
    }

    // MARK: Tables

    func isCurrent(_ ticket: PoolTicket) -> Bool {
        requests.indices.contains(Int(ticket.index))
            && requests[Int(ticket.index)].generation == ticket.generation
            && requests[Int(ticket.index)].phase != .free
    }

    private mutating func takeSlot() -> Int32 {
        if let index = freeSlots.popLast() { return index }
        requests.append(PoolRequest())
        return Int32(requests.count - 1)
    }

    mutating func release(_ index: Int32) {
        requests[Int(index)].phase = .free
        freeSlots.append(index)
    }

    mutating func requeue(_ ticket: PoolTicket) {
        requests[Int(ticket.index)].phase = .waiting
        waitingCount += 1
        again.append(ticket)
    }

    func index(of connection: UInt32) -> Int? { connections.firstIndex { $0.number == connection } }

    mutating func addConnection(at now: Instant) -> UInt32 {
        lastNumber += 1
        connections.append(PoolConnection(number: lastNumber, settings: settings, at: now))
        connectedAt = now
        return lastNumber
    }

    /// Returns the actions since the last call.
    package mutating func takeActions() -> [PoolAction] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll() }
        return actions
    }
}
