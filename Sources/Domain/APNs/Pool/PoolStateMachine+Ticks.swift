internal import Containers
package import Lifecycle

/// Actions that depend on time.
extension PoolStateMachine {
    /// - Parameter mayConnect: asks the host's budget. It is called before each new connection.
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
        if backingOffCount > 0 { return 10 }
        return isIdle && connections.allSatisfy { $0.phase == .open } ? 1_000 : 50
    }

    // MARK: Requests

    private mutating func requeueBackedOff(at now: Instant) {
        for index in requests.indices where requests[index].phase == .backingOff {
            guard requests[index].backOffUntil <= now || requests[index].sendBy <= now else { continue }
            backingOffCount -= 1
            requeue(PoolTicket(index: Int32(index), generation: requests[index].generation))
        }
    }

    /// Ends the requests whose time to leave has passed. Then sweeps the queues, so that stale tickets do not
    /// pile up.
    private mutating func expire(at now: Instant) {
        for index in requests.indices where requests[index].phase == .waiting {
            guard requests[index].sendBy <= now else { continue }
            endUnsent(PoolTicket(index: Int32(index), generation: requests[index].generation))
        }
        let known = requests
        let isStale = { (ticket: PoolTicket) in
            known[Int(ticket.index)].generation != ticket.generation
                || known[Int(ticket.index)].phase != .waiting
        }
        again.removeAll(where: isStale)
        waiting.removeAll(where: isStale)
    }

    // MARK: Connections

    private mutating func checkLiveness(connectionIndex index: Int, at now: Instant) {
        let connection = connections[index]
        guard connection.phase == .open || connection.phase == .retiring else { return }
        connections[index].widenWindow(settings: settings, at: now)
        if let pinged = connection.pingedAt {
            guard now.milliseconds(since: pinged) >= settings.pongMilliseconds else { return }
            return close(connectionIndex: index)
        }
        let silence =
            connection.streams > 0 ? settings.silentPingMilliseconds : settings.idlePingMilliseconds
        guard now.milliseconds(since: connection.readAt) >= silence else { return }
        connections[index].pingedAt = now
        actions.append(.ping(connection.number))
    }

    private mutating func close(connectionIndex index: Int) {
        connections[index].phase = .closing
        actions.append(.close(connections[index].number))
    }

    /// Replaces an old connection and retires it when its replacement works. Retires a connection that is no
    /// longer needed.
    private mutating func recycle(connectionIndex index: Int, at now: Instant) {
        guard connections[index].phase == .open else { return }
        let isUsedUp = connections[index].requestsLeft < settings.requestsPerConnectionMax / 10
        if now >= connections[index].recycleAt || isUsedUp { connections[index].isStale = true }
        let isUnused =
            !wasUsedRecently(at: now) && connections[index].streams == 0
            && waitingCount + backingOffCount == 0
        guard connections[index].isStale || isUnused else { return }
        let replacement = self.index(of: connections[index].replacement)
        let isReplaced =
            replacement.map { next in
                connections[next].phase == .open
                    && (connections[next].isAuthorized || connections[index].streams == 0)
            } ?? false
        if isReplaced || isUnused { retire(connectionIndex: index, at: now) }
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
        usedAt.map { now.milliseconds(since: $0) < settings.idleConnectionMilliseconds } ?? false
    }

    // MARK: Growth

    /// Opens a connection if one is needed, one at a time. It is also called between ticks while requests
    /// wait.
    package mutating func grow(at now: Instant, mayConnect: (ConnectRequest) -> Bool) {
        guard !isStopped, now >= backoff.nextAttempt else { return }
        guard !connections.contains(where: { $0.isBecomingAvailable(settings: settings, at: now) }) else {
            return
        }
        let usable = connections.count { $0.phase == .open && !$0.isStalled(settings: settings, at: now) }
        let fresh = connections.count { $0.phase == .open && !$0.isStale }
        let stale = connections.firstIndex {
            $0.phase == .open && $0.isStale && index(of: $0.replacement) == nil
        }
        let hasRoom = connections.contains {
            $0.freeStreams > 0 && !$0.isStalled(settings: settings, at: now)
        }
        let isNeeded = waitingCount > 0 && !hasRoom && fresh < settings.connectionsMax
        let isKept = usable == 0 && fresh < settings.connectionsMax && wasUsedRecently(at: now)
        let replaces = stale != nil && wasUsedRecently(at: now)
        let ask = ConnectRequest(
            isForFirstConnection: usable == 0, failures: backoff.failures, lastConnectAt: connectedAt)
        guard isNeeded || isKept || replaces, mayConnect(ask) else { return }
        let number = addConnection(at: now)
        if let stale { connections[stale].replacement = number }
        actions.append(.connect(number))
    }
}
