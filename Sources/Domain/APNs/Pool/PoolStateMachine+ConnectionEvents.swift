package import Lifecycle

/// Events of connections, as the caller reports them by the connection's number. The end of the pool.
extension PoolStateMachine {
    /// Number of connections in the phase `open`.
    package var openConnections: Int { connections.count { $0.phase == .open } }
    /// Number of connections in any phase.
    package var connectionCount: Int { connections.count }
    /// Whether an answer on an open connection has shown that APNs accepts the provider token.
    package var isAuthorized: Bool { connections.contains { $0.phase == .open && $0.isAuthorized } }

    /// Handles a connection that has completed TLS and speaks HTTP/2.
    package mutating func handleOpen(of number: UInt32, at now: Instant) {
        guard let index = index(of: number), connections[index].phase == .connecting else { return }
        connections[index].phase = .open
        connections[index].lastReadAt = now
        connections[index].recycleAt = now.advanced(
            byMilliseconds: jitter.milliseconds(in: settings.recycleMilliseconds))
        if isStopped { retire(connectionIndex: index, at: now) }
    }

    /// Applies the peer's SETTINGS.
    package mutating func applySettings(of number: UInt32, streamsMax: Int) {
        guard let index = index(of: number) else { return }
        connections[index].streamsMax = streamsMax
        connections[index].isBlocked = false
    }

    /// Handles GOAWAY. The caller reports the outcomes of the streams separately.
    package mutating func handleGoaway(on number: UInt32, isEnhanceYourCalm: Bool, at now: Instant) {
        guard let index = index(of: number) else { return }
        retire(connectionIndex: index, at: now)
        if isEnhanceYourCalm { backoff.recordFailure(at: now, jitter: &jitter) }
    }

    /// Handles a connection that can take requests again.
    package mutating func handleDrain(of number: UInt32) {
        guard let index = index(of: number) else { return }
        connections[index].isBlocked = false
    }

    /// Records that bytes were read.
    package mutating func recordRead(on number: UInt32, at now: Instant) {
        guard let index = index(of: number) else { return }
        connections[index].lastReadAt = now
    }

    /// Records the answer to a PING.
    package mutating func recordPong(on number: UInt32) {
        guard let index = index(of: number) else { return }
        connections[index].pingedAt = nil
    }

    /// Handles a connection that was closed or could not be opened. Ends the requests that are still on it.
    package mutating func handleClose(of number: UInt32, at now: Instant) {
        guard let index = index(of: number) else { return }
        let connection = connections.remove(at: index)
        if connection.streams > 0 { endStreams(of: number) }
        for other in connections.indices where connections[other].replacementNumber == number {
            connections[other].replacementNumber = 0
        }
        // A connection that this side closed before its first request has not failed.
        let isUnused =
            connection.phase == .closing && connection.requestsLeft == settings.requestsPerConnectionMax
        if !connection.isAuthorized, !isUnused { backoff.recordFailure(at: now, jitter: &jitter) }
    }

    /// Ends the requests of a connection that was closed. Their results are unknown.
    private mutating func endStreams(of number: UInt32) {
        for index in requests.indices where requests[index].connection == number {
            let ticket = PoolTicket(index: Int32(index), generation: requests[index].generation)
            switch requests[index].phase {
            case .open:
                release(ticket.index)
                actions.append(.end(ticket, .unknown(.connectionLost)))
            case .late:
                lateCount -= 1
                release(ticket.index)
                actions.append(.noLateAnswer(ticket))
            case .free, .waiting, .backingOff: break
            }
        }
    }

    /// Stops sending new requests over the connection.
    mutating func retire(connectionIndex index: Int, at now: Instant) {
        switch connections[index].phase {
        case .open: break
        case .connecting:
            connections[index].phase = .closing
            actions.append(.close(connections[index].number))
            return
        case .retiring, .closing: return
        }
        connections[index].phase = .retiring
        connections[index].retiredAt = now
    }

    /// Retires all connections, because the provider's key was replaced or removed. Nothing more may be sent
    /// over connections that were opened with the old key.
    package mutating func retireAll(at now: Instant) {
        for index in connections.indices { retire(connectionIndex: index, at: now) }
    }

    /// Stops taking requests and ends those that wait or back off. Each connection closes when its own
    /// requests have ended. The pool opens no more connections and has stopped when `connectionCount` is 0.
    package mutating func stop(at now: Instant) {
        isStopped = true
        for ticket in takeWaiting() { actions.append(.end(ticket, .notProcessed(.stopped))) }
        retireAll(at: now)
    }

    /// Closes every connection at once, even with open requests.
    package mutating func closeAll() {
        for index in connections.indices {
            connections[index].phase = .closing
            actions.append(.close(connections[index].number))
        }
    }
}
