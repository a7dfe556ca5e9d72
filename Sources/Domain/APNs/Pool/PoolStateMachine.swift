internal import Containers
package import Lifecycle

/// The decisions about the connections and requests of one app in one environment: the connection that each
/// request uses, the moments at which connections are opened, pinged, replaced and closed, and the end of a
/// request without an answer. It has no socket, no clock and no thread: its caller (`ConnectionPool`) reports
/// events with their times, and carries out the actions of `takeActions`.
///
/// A request ends exactly once: `end(_:with:at:)` returns `.ended`, or the actions contain `.end`. After
/// `unknown(.overdue)` exactly one `lateAnswer` or `noLateAnswer` follows, as a verdict or an action. The
/// request's slot is then free again.
package struct PoolStateMachine {
    package let settings: PoolSettings
    var jitter: Jitter
    var backoff: Backoff

    // Requests.

    /// The slots of all requests. The index of a ticket is the index of its slot.
    var requests: [PoolRequest] = []
    private var freeSlots: [Int32] = []
    /// Waiting requests that are sent again. They go before new requests. In both queues the ticket of a
    /// request that has ended stays until it reaches the head or `tick` sweeps the queue.
    var retries = FIFOQueue<PoolTicket>()
    /// Waiting requests that were never sent.
    var newRequests = FIFOQueue<PoolTicket>()
    /// Number of requests in the phase `waiting`.
    var waitingCount = 0
    /// Number of requests in the phase `backingOff`.
    var backingOffCount = 0
    /// Number of requests in the phase `late`.
    var lateCount = 0
    /// Time at which the last request came.
    var lastRequestAt: Instant?

    // Connections.

    var connections: [PoolConnection] = []
    private var run = SendRun()
    /// The number of the newest connection.
    private var lastNumber: UInt32 = 0
    /// Time at which the last connection was opened.
    var lastConnectAt: Instant?

    package internal(set) var isStopped = false
    /// The actions that the caller has not taken yet.
    var actions: [PoolAction] = []

    /// Number of requests in a `SendRun`.
    private static let requestsPerRun = 32
    /// The load that a stalled connection counts for, above any number of streams.
    private static let stalledPenalty = 1_000_000
    /// The load that the connection to avoid counts for, above a stalled one.
    private static let avoidedPenalty = 2_000_000

    /// A request and the connection that it must use.
    package typealias Assignment = (ticket: PoolTicket, connection: UInt32)

    /// A run of requests at one moment that all use the same connection, so that their frames are built and
    /// sent together. After a run the pool looks for the least loaded connection again.
    private struct SendRun {
        /// The connection: its index and number.
        var index = 0
        var number: UInt32 = 0
        /// Number of requests that the run may still take.
        var requestsLeft = 0
        var startedAt = Instant(nanoseconds: 0)
    }

    package init(settings: PoolSettings, seed: UInt64) {
        self.settings = settings
        jitter = Jitter(seed: seed)
        backoff = Backoff(milliseconds: settings.backoffMilliseconds)
    }

    /// Number of requests that have not ended.
    package var unendedRequests: Int { requests.count - freeSlots.count - lateCount }
    package var hasQueuedRequests: Bool { !retries.isEmpty || !newRequests.isEmpty }
    /// Whether no request is waiting, backing off, open or late.
    package var isIdle: Bool { freeSlots.count == requests.count }

    // MARK: Requests

    /// Number of requests that the pool can take now.
    package var capacity: Int {
        guard !isStopped else { return 0 }
        // A request that gets a free stream at once does not count as waiting.
        let freeStreams = connections.reduce(0) { $0 + max(0, $1.freeStreams) }
        let waitingCapacity = settings.waitingMax + freeStreams - waitingCount - backingOffCount
        return max(0, min(settings.requestsMax - unendedRequests, waitingCapacity))
    }

    /// Whether no connection is open, and the last attempt did not fail. Requests then wait for a connection that will
    /// probably open soon.
    package var isConnecting: Bool {
        backoff.failures == 0 && !connections.contains { $0.phase == .open || $0.phase == .retiring }
    }

    /// Takes a request, or throws the reason why it cannot.
    package mutating func submit(
        sendBy: Instant, attempts: Int = PushDeadlines.attemptsDefault, at now: Instant
    ) throws(PushRefusal) -> PoolTicket {
        guard !isStopped else { throw .stopped }
        // This cheap check, which does not look at the connections, nearly always decides.
        let isBelowLimits =
            waitingCount + backingOffCount < settings.waitingMax && unendedRequests < settings.requestsMax
        guard isBelowLimits || capacity > 0 else { throw .full }
        lastRequestAt = now
        let index = takeSlot()
        requests[Int(index)].begin(sendBy: sendBy, attempts: attempts)
        let ticket = PoolTicket(index: index, generation: requests[Int(index)].generation)
        waitingCount += 1
        newRequests.append(ticket)
        return ticket
    }

    /// Returns the next waiting request and assigns it to a connection. The caller sends it or calls
    /// `requeueUnsent`. Requests whose `sendBy` has passed end here, so the caller must then take the
    /// actions. Returns nil if no request waits or no connection has a free stream.
    package mutating func nextSend(at now: Instant) -> Assignment? {
        while let ticket = retries.first ?? newRequests.first {
            let isRetry = !retries.isEmpty
            guard isCurrent(ticket), self[ticket].phase == .waiting else {
                dequeue(isRetry: isRetry)
                continue
            }
            guard now < self[ticket].sendBy else {
                dequeue(isRetry: isRetry)
                endUnsent(ticket)
                continue
            }
            // A retry avoids the connection of its last attempt.
            let avoided = self[ticket].connection
            guard let chosen = chooseConnection(avoiding: avoided, at: now) else { return nil }
            dequeue(isRetry: isRetry)
            assign(ticket, toConnectionAt: chosen)
            return (ticket, connections[chosen].number)
        }
        return nil
    }

    /// Removes the head of one of the two queues.
    private mutating func dequeue(isRetry: Bool) {
        if isRetry { retries.removeFirst() } else { newRequests.removeFirst() }
    }

    /// Records that a connection carries the request.
    private mutating func assign(_ ticket: PoolTicket, toConnectionAt index: Int) {
        waitingCount -= 1
        self[ticket].phase = .open
        self[ticket].connection = connections[index].number
        connections[index].liveStreams += 1
        connections[index].requestsLeft -= 1
    }

    /// Requeues a request that the session could not take. The connection takes no requests until its next
    /// event.
    package mutating func requeueUnsent(_ ticket: PoolTicket) {
        guard isCurrent(ticket), self[ticket].phase == .open else { return }
        if let index = index(of: self[ticket].connection) {
            connections[index].liveStreams -= 1
            connections[index].requestsLeft += 1
            connections[index].isBlocked = true
        }
        requeue(ticket)
    }

    /// Ends a waiting request whose `sendBy` has passed.
    mutating func endUnsent(_ ticket: PoolTicket) {
        waitingCount -= 1
        let fault: PushFault = self[ticket].refusals > 0 ? .refused : .noConnection
        release(ticket.index)
        actions.append(.end(ticket, .notProcessed(fault)))
    }

    /// Withdraws a request that has not been sent. Returns false if it was sent or has ended.
    package mutating func withdraw(_ ticket: PoolTicket) -> Bool {
        guard isCurrent(ticket) else { return false }
        switch self[ticket].phase {
        case .waiting: waitingCount -= 1
        case .backingOff: backingOffCount -= 1
        case .free, .open, .late: return false
        }
        release(ticket.index)
        return true
    }

    /// Removes and returns all requests that wait or back off. The caller reports their ends.
    package mutating func takeWaiting() -> [PoolTicket] {
        var withdrawn: [PoolTicket] = []
        for index in requests.indices {
            let ticket = PoolTicket(index: Int32(index), generation: requests[index].generation)
            if withdraw(ticket) { withdrawn.append(ticket) }
        }
        // No ticket in the queues is current any more.
        while let next = retries.first ?? newRequests.first, !isCurrent(next) {
            dequeue(isRetry: !retries.isEmpty)
        }
        return withdrawn
    }

    /// Returns the number of the connection that carries the request, or nil if the request is not open.
    package func connection(of ticket: PoolTicket) -> UInt32? {
        isCurrent(ticket) && self[ticket].phase == .open
            ? self[ticket].connection : nil
    }

    // MARK: The choice of a connection

    /// Returns the index of the connection for the next request: the connection of the current run, or the
    /// least loaded one.
    ///
    /// - Parameter avoided: the number of a connection that is used only if there is no other, or 0.
    private mutating func chooseConnection(avoiding avoided: UInt32, at now: Instant) -> Int? {
        if continuesRun(avoiding: avoided, at: now) {
            run.requestsLeft -= 1
            return run.index
        }
        guard let index = leastLoaded(avoiding: avoided, at: now) else { return nil }
        run = SendRun(
            index: index, number: connections[index].number,
            requestsLeft: PoolStateMachine.requestsPerRun - 1, startedAt: now)
        return index
    }

    /// Whether the next request may use the connection of the current run.
    private func continuesRun(avoiding avoided: UInt32, at now: Instant) -> Bool {
        guard run.requestsLeft > 0, run.startedAt == now, run.number != avoided else { return false }
        // Connections may have been removed since, so the index is checked.
        let isStillThere = run.index < connections.count && connections[run.index].number == run.number
        return isStillThere && connections[run.index].freeStreams > 0
    }

    /// Returns the index of the connection with the fewest streams among those with a free stream. A stalled
    /// connection, and even more the one to avoid, comes after all others.
    private func leastLoaded(avoiding avoided: UInt32, at now: Instant) -> Int? {
        var leastLoadedIndex: Int?
        var leastLoad = Int.max
        for index in connections.indices {
            let connection = connections[index]
            guard connection.freeStreams > 0 else { continue }
            var load = connection.streams
            if connection.isStalled(settings: settings, at: now) { load += Self.stalledPenalty }
            if connection.number == avoided { load += Self.avoidedPenalty }
            if load < leastLoad {
                leastLoadedIndex = index
                leastLoad = load
            }
        }
        return leastLoadedIndex
    }

    // MARK: Slots and connections

    /// The request of a current ticket.
    subscript(ticket: PoolTicket) -> PoolRequest {
        get { requests[Int(ticket.index)] }
        _modify { yield &requests[Int(ticket.index)] }
    }

    /// Whether the ticket's slot still belongs to its request. A late request keeps its slot.
    func isCurrent(_ ticket: PoolTicket) -> Bool {
        requests.indices.contains(Int(ticket.index))
            && self[ticket].generation == ticket.generation
            && self[ticket].phase != .free
    }

    private mutating func takeSlot() -> Int32 {
        if let index = freeSlots.popLast() { return index }
        requests.append(PoolRequest())
        return Int32(requests.count - 1)
    }

    /// Frees a slot. Its ticket is stale from now on.
    mutating func release(_ index: Int32) {
        requests[Int(index)].phase = .free
        freeSlots.append(index)
    }

    /// Lets a request wait again, before new requests.
    mutating func requeue(_ ticket: PoolTicket) {
        self[ticket].phase = .waiting
        waitingCount += 1
        retries.append(ticket)
    }

    /// Returns the index of the connection with this number.
    func index(of connection: UInt32) -> Int? { connections.firstIndex { $0.number == connection } }

    /// Adds a connection and returns its number.
    mutating func addConnection(at now: Instant) -> UInt32 {
        lastNumber += 1
        connections.append(PoolConnection(number: lastNumber, settings: settings, at: now))
        lastConnectAt = now
        return lastNumber
    }

    /// Returns the actions since the last call.
    package mutating func takeActions() -> [PoolAction] {
        guard !actions.isEmpty else { return [] }
        let taken = actions
        actions = []
        return taken
    }
}
