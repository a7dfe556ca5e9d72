internal import Containers
package import Lifecycle

/// The decisions that depend on time: `tick` ends expired requests, and pings, replaces, closes and opens
/// connections.
extension PoolStateMachine {
    // The pauses between two ticks.
    private static let backingOffTickMilliseconds = 10
    private static let busyTickMilliseconds = 50
    private static let idleTickMilliseconds = 1_000

    /// Ends requests, and pings, replaces, closes and opens connections, if it is time. The caller calls it
    /// every `tickMilliseconds`.
    ///
    /// - Parameter mayConnect: takes a connection from the host's `ConnectBudget`, or returns false. It is called
    ///   before each new connection.
    package mutating func tick(at now: Instant, mayConnect: (ConnectRequest) -> Bool) {
        if backingOffCount > 0 { requeueBackedOff(at: now) }
        if waitingCount > 0 || hasQueuedRequests { expire(at: now) }
        for index in connections.indices.reversed() {
            checkLiveness(connectionIndex: index, at: now)
            recycle(connectionIndex: index, at: now)
            closeIfFinished(connectionIndex: index, at: now)
        }
        grow(at: now, mayConnect: mayConnect)
    }

    /// Milliseconds until `tick` must be called again.
    package var tickMilliseconds: Int {
        if backingOffCount > 0 { return Self.backingOffTickMilliseconds }
        let isQuiet = isIdle && connections.allSatisfy { $0.phase == .open }
        return isQuiet ? Self.idleTickMilliseconds : Self.busyTickMilliseconds
    }

    // MARK: Requests

    /// Lets the requests whose pause is over wait again.
    private mutating func requeueBackedOff(at now: Instant) {
        for index in requests.indices where requests[index].phase == .backingOff {
            guard requests[index].backOffUntil <= now || requests[index].sendBy <= now else { continue }
            backingOffCount -= 1
            requeue(PoolTicket(index: Int32(index), generation: requests[index].generation))
        }
    }

    /// Ends the waiting requests whose `sendBy` has passed. Then sweeps the queues, so that stale tickets do
    /// not pile up.
    private mutating func expire(at now: Instant) {
        for index in requests.indices where requests[index].phase == .waiting {
            guard requests[index].sendBy <= now else { continue }
            endUnsent(PoolTicket(index: Int32(index), generation: requests[index].generation))
        }
        // A copy, because a closure cannot read `self` while a queue changes.
        let slots = requests
        let isStale = { (ticket: PoolTicket) in
            let request = slots[Int(ticket.index)]
            return request.generation != ticket.generation || request.phase != .waiting
        }
        retries.removeAll(where: isStale)
        newRequests.removeAll(where: isStale)
    }

    // MARK: Connections

    /// Sends a PING over a silent connection, and closes a connection that did not answer one.
    private mutating func checkLiveness(connectionIndex index: Int, at now: Instant) {
        let connection = connections[index]
        guard connection.phase == .open || connection.phase == .retiring else { return }
        connections[index].widenWindow(settings: settings, at: now)
        if let pingedAt = connection.pingedAt {
            guard now.milliseconds(since: pingedAt) >= settings.pongMilliseconds else { return }
            return close(connectionIndex: index)
        }
        let silenceMilliseconds =
            connection.streams > 0 ? settings.silentPingMilliseconds : settings.idlePingMilliseconds
        guard now.milliseconds(since: connection.lastReadAt) >= silenceMilliseconds else { return }
        connections[index].pingedAt = now
        actions.append(.ping(connection.number))
    }

    private mutating func close(connectionIndex index: Int) {
        connections[index].phase = .closing
        actions.append(.close(connections[index].number))
    }

    /// Marks an old or used up connection as stale, so that `grow` replaces it. Retires it when its
    /// replacement works. Retires a connection that is no longer needed.
    private mutating func recycle(connectionIndex index: Int, at now: Instant) {
        guard connections[index].phase == .open else { return }
        // One tenth is left for the time until the replacement works.
        let isUsedUp = connections[index].requestsLeft < settings.requestsPerConnectionMax / 10
        if now >= connections[index].recycleAt || isUsedUp { connections[index].isStale = true }
        let noRequestWaits = waitingCount + backingOffCount == 0
        let isUnused = !wasUsedRecently(at: now) && connections[index].streams == 0 && noRequestWaits
        guard connections[index].isStale || isUnused else { return }
        if isUnused || isReplacementWorking(forConnectionAt: index) {
            retire(connectionIndex: index, at: now)
        }
    }

    /// Whether a connection has a replacement that works.
    private func isReplacementWorking(forConnectionAt index: Int) -> Bool {
        guard let replacement = self.index(of: connections[index].replacementNumber),
            connections[replacement].phase == .open
        else { return false }
        // Only an answer authorizes the replacement. A connection without open streams does not wait for it.
        return connections[replacement].isAuthorized || connections[index].streams == 0
    }

    /// Closes a retired connection when its last request has ended or its time is up. It also waits for late
    /// answers, unless the pool stops.
    private mutating func closeIfFinished(connectionIndex index: Int, at now: Instant) {
        guard connections[index].phase == .retiring else { return }
        if connections[index].liveStreams == 0, connections[index].overdueStreams == 0 || isStopped {
            connections[index].phase = .closing
            actions.append(.finish(connections[index].number))
        } else if now.milliseconds(since: connections[index].retiredAt) >= settings.retireMilliseconds {
            close(connectionIndex: index)
        }
    }

    /// Whether requests came recently enough to keep a connection open for the next one.
    private func wasUsedRecently(at now: Instant) -> Bool {
        lastRequestAt.map { now.milliseconds(since: $0) < settings.idleConnectionMilliseconds } ?? false
    }

    // MARK: Growth

    /// Opens a connection if one is needed, one at a time. It is also called between ticks while requests
    /// wait.
    package mutating func grow(at now: Instant, mayConnect: (ConnectRequest) -> Bool) {
        guard !isStopped, now >= backoff.nextAttempt else { return }
        let isConnectionComing = connections.contains {
            $0.isBecomingAvailable(settings: settings, at: now)
        }
        if isConnectionComing { return }
        let usableCount = connections.count {
            $0.phase == .open && !$0.isStalled(settings: settings, at: now)
        }
        let hasFreeStream = connections.contains {
            $0.freeStreams > 0 && !$0.isStalled(settings: settings, at: now)
        }
        let freshCount = connections.count { $0.phase == .open && !$0.isStale }
        let unreplacedIndex = connections.firstIndex {
            $0.phase == .open && $0.isStale && index(of: $0.replacementNumber) == nil
        }
        let mayAdd = freshCount < settings.connectionsMax
        let isNeededNow = waitingCount > 0 && !hasFreeStream && mayAdd
        let isNeededForNextRequest = usableCount == 0 && mayAdd && wasUsedRecently(at: now)
        let isReplacement = unreplacedIndex != nil && wasUsedRecently(at: now)
        let request = ConnectRequest(
            isForFirstConnection: usableCount == 0, failures: backoff.failures, lastConnectAt: lastConnectAt)
        guard isNeededNow || isNeededForNextRequest || isReplacement, mayConnect(request) else { return }
        let number = addConnection(at: now)
        if let unreplacedIndex { connections[unreplacedIndex].replacementNumber = number }
        actions.append(.connect(number))
    }
}
