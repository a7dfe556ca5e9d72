import Lifecycle
import Simulation
import Testing

@testable import APNs

/// Random histories of a pool in a `PoolWorld`, which simulates connections and servers and collects the rules that the
/// pool breaks. The seed alone repeats a history.
@Suite struct PoolSimulationTests {
    private static let stepCount = 120

    /// Runs a history, and returns the rules that the pool broke.
    private func faults(seed: Int, mutant: PoolMutant? = nil) -> Set<String> {
        var world = PoolWorld(seed: seed, mutant: mutant)
        for _ in 0..<Self.stepCount { world.takeRandomStep() }
        world.settle()
        return world.faults
    }

    @Test func `each request ends once and within its limits, and nothing is left`() {
        for seed in 0..<trialCount(base: 1_000) {
            let faults = faults(seed: seed)
            #expect(faults.isEmpty, "seed \(seed): \(faults.sorted())")
            if !faults.isEmpty { return }
        }
    }

    @Test func `the simulation reaches every way in which a request can end`() {
        var ends: Set<PushEnd?> = []
        var lateAnswerCount = 0
        var missingAnswerCount = 0
        for seed in 0..<400 {
            var world = PoolWorld(seed: seed)
            for _ in 0..<Self.stepCount { world.takeRandomStep() }
            world.settle()
            ends.formUnion(world.ends)
            lateAnswerCount += world.lateAnswerCount
            missingAnswerCount += world.missingAnswerCount
        }
        let expected: [PushEnd] = [
            .answered, .withdrawn, .unknown(.overdue), .unknown(.reset), .unknown(.connectionLost),
            .notProcessed(.overdue), .notProcessed(.noConnection), .notProcessed(.refused),
            .notProcessed(.stopped),
        ]
        #expect(ends == Set(expected))
        #expect(lateAnswerCount > 0)
        #expect(missingAnswerCount > 0)
    }

    @Test(arguments: PoolMutant.allCases)
    func `the simulation detects a wrong pool`(mutant: PoolMutant) {
        let isDetected = (0..<1_000).contains { !faults(seed: $0, mutant: mutant).isEmpty }
        #expect(isDetected, "the simulation did not detect \(mutant)")
    }
}

extension PoolWorld {
    /// Lets time pass with a well-behaved server. Everything must end, new requests must be answered, and
    /// then the pool must stop and release everything.
    mutating func settle() {
        isCalm = true
        live(milliseconds: 20_000)
        if !openRequests.isEmpty || !overdueRequests.isEmpty { faults.insert("a request never ended") }
        if !pool.isIdle { faults.insert("requests are left in the pool's table") }
        let queuedCount = pool.waitingCount + pool.backingOffCount + pool.lateCount
        if pool.hasQueuedRequests || queuedCount != 0 { faults.insert("the pool's queues are not empty") }
        if pool.connections.contains(where: { $0.streams != 0 }) {
            faults.insert("a stream stays counted")
        }
        if !pool.isStopped {
            probe()
            stop()
        }
        // 40 s, longer than the waits of a stopping pool.
        for _ in 0..<800 where !links.isEmpty { pass(milliseconds: 50) }
        if !links.isEmpty || pool.connectionCount != 0 { faults.insert("a connection is left") }
    }

    /// Lets the client and the server work for a while, in rounds of 50 ms.
    mutating func live(milliseconds: Int) {
        for _ in 0..<milliseconds / 50 {
            for number in links.keys.sorted() { readMessages(on: number) }
            for _ in 0..<4 { serveRandomLink() }
            pass(milliseconds: 50)
            send()
        }
    }

    /// Checks that the pool answers again after any history. It may first lose as many overdue requests as a
    /// deaf connection costs, and the pauses between connections.
    private mutating func probe() {
        for _ in 0..<4 * pool.settings.consecutiveOverduesMax + 20 {
            let deadlines = PushDeadlines(deadline: now.advanced(byMilliseconds: 2_500))
            let request = submit(deadlines)
            live(milliseconds: 2_550)
            if let request, requests[request]?.end == .answered { return }
        }
        faults.insert("a pool with a working server answers no requests")
    }
}
