package import Lifecycle

/// What happens to connections.
extension Pool {
    package var openConnections: Int { connections.count { $0.phase == .open } }
    package var connectionCount: Int { connections.count }
    /// An answer has shown that requests are taken: the pool works.
    package var isAuthorised: Bool { connections.contains { $0.phase == .open && $0.isAuthorised } }

    /// TLS is there and the peer speaks HTTP/2.
    package mutating func connected(_ number: UInt32, at now: Instant) {
        guard let index = index(of: number), connections[index].phase == .connecting else { return }
        connections[index].phase = .open
        connections[index].readAt = now
        connections[index].recycleAt = now.advanced(
            byMilliseconds: jitter.milliseconds(in: settings.recycleMilliseconds))
        if isStopped { retire(index, at: now) }
    }

    /// The peer's SETTINGS hold from now on.
    package mutating func settings(_ number: UInt32, streamsMax: Int) {
        guard let index = index(of: number) else { return }
        connections[index].streamsMax = streamsMax
        connections[index].isBlocked = false
    }

    /// GOAWAY. What becomes of its streams their outcomes say.
    package mutating func goaway(_ number: UInt32, isCalm: Bool, at now: Instant) {
        guard let index = index(of: number) else { return }
        retire(index, at: now)
        if isCalm { backoff.failed(at: now, &jitter) }
    }

    /// It takes requests again.
    package mutating func drained(_ number: UInt32) {
        guard let index = index(of: number) else { return }
        connections[index].isBlocked = false
    }

    /// Bytes were read.
    package mutating func read(_ number: UInt32, at now: Instant) {
        guard let index = index(of: number) else { return }
        connections[index].readAt = now
    }

    package mutating func pong(_ number: UInt32) {
        guard let index = index(of: number) else { return }
        connections[index].pingedAt = nil
    }

    /// The connection is gone, or never came to be. Requests of it that did not end before end here.
    package mutating func closed(_ number: UInt32, at now: Instant) {
        guard let index = index(of: number) else { return }
        let connection = connections.remove(at: index)
        if connection.streams > 0 { endStreams(of: number) }
        for other in connections.indices where connections[other].replacement == number {
            connections[other].replacement = 0
        }
        // One that was closed here without ever having been used has not failed.
        let isUnused =
            connection.phase == .closing && connection.requestsLeft == settings.requestsPerConnectionMax
        if !connection.isAuthorised, !isUnused { backoff.failed(at: now, &jitter) }
    }

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
                actions.append(.lateOver(ticket))
            case .free, .waiting, .resting: break
            }
        }
    }

    /// No new requests from now on.
    mutating func retire(_ index: Int, at now: Instant) {
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

    /// The provider's key has changed or is gone: nothing more goes over what was opened with it.
    package mutating func retireAll(at now: Instant) {
        for index in connections.indices { retire(index, at: now) }
    }

    /// Takes no more requests and ends those that wait or rest; connections close when theirs have ended.
    /// It opens nothing again, and is over when `connectionCount` is 0.
    package mutating func stop(at now: Instant) {
        isStopped = true
        for ticket in takeWaiting() { actions.append(.end(ticket, .notProcessed(.stopped))) }
        retireAll(at: now)
    }

    /// Closes every connection at once, whatever is open on it.
    package mutating func closeAll() {
        for index in connections.indices {
            connections[index].phase = .closing
            actions.append(.close(connections[index].number))
        }
    }
}
