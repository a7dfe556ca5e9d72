import Lifecycle

@testable import APNs

// The end of a history, with a server that behaves well.

extension PoolWorld {
    private static let roundMilliseconds = 50

    /// Lets time pass with a well-behaved server. Everything must end, new requests must be answered, and
    /// then the pool must stop and release everything.
    mutating func settle() {
        isCalm = true
        run(milliseconds: 20_000)
        if !openRequests.isEmpty || !overdueRequests.isEmpty { brokenRules.insert("a request never ended") }
        if !pool.isIdle { brokenRules.insert("requests are left in the pool's table") }
        let queuedCount = pool.waitingCount + pool.backingOffCount + pool.lateCount
        if pool.hasQueuedRequests || queuedCount != 0 {
            brokenRules.insert("the pool's queues are not empty")
        }
        if pool.connections.contains(where: { $0.streams != 0 }) {
            brokenRules.insert("a stream stays counted")
        }
        if !pool.isStopped {
            probe()
            stop()
        }
        // Longer than the waits of a stopping pool.
        let stopMilliseconds = 40_000
        for _ in 0..<stopMilliseconds / Self.roundMilliseconds where !links.isEmpty {
            pass(milliseconds: Self.roundMilliseconds)
        }
        if !links.isEmpty || pool.connectionCount != 0 { brokenRules.insert("a connection is left") }
    }

    /// Lets the client and the server work for a while, in rounds.
    mutating func run(milliseconds: Int) {
        for _ in 0..<milliseconds / Self.roundMilliseconds {
            for number in links.keys.sorted() { readMessages(on: number) }
            for _ in 0..<4 { serveRandomLink() }
            pass(milliseconds: Self.roundMilliseconds)
            send()
        }
    }

    /// Checks that the pool answers again after any history. Its first requests may be lost: a deaf connection is closed
    /// only after some overdue requests, and between two connections the pool pauses.
    private mutating func probe() {
        let lostToDeafConnections = Self.connectionsMax * pool.settings.consecutiveOverduesMax
        let lostToPauses = 20
        let answerMilliseconds = 2_500
        for _ in 0..<lostToDeafConnections + lostToPauses {
            let deadlines = PushDeadlines(deadline: now.advanced(byMilliseconds: answerMilliseconds))
            let request = submit(deadlines)
            run(milliseconds: answerMilliseconds + Self.roundMilliseconds)
            if let request, requests[request]?.end == .answered { return }
        }
        brokenRules.insert("a pool with a working server answers no requests")
    }
}
