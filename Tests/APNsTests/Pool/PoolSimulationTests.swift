import Lifecycle
import Simulation
import Testing

@testable import APNs

/// Random histories of a pool in a `PoolWorld`. The seed alone repeats a history.
@Suite struct PoolSimulationTests {
    /// Runs a history, and returns the rules that the pool broke.
    private func faults(seed: Int, mutant: PoolMutant? = nil) -> Set<String> {
        var world = PoolWorld(seed: seed, mutant: mutant)
        for _ in 0..<120 { world.step() }
        world.settle()
        return world.faults
    }

    @Test func `each request ends once and within its limits, and nothing is left`() {
        let seeds = trialCount(base: 1_000)
        for seed in 0..<seeds {
            let faults = faults(seed: seed)
            #expect(faults.isEmpty, "seed \(seed): \(faults.sorted())")
            if !faults.isEmpty { return }
        }
    }

    @Test func `the simulation reaches every way in which a request can end`() {
        var ends: Set<PushEnd?> = []
        var lateAnswers = 0
        var missingAnswers = 0
        for seed in 0..<400 {
            var world = PoolWorld(seed: seed)
            for _ in 0..<120 { world.step() }
            world.settle()
            ends.formUnion(world.ends)
            lateAnswers += world.lateAnswers
            missingAnswers += world.missingAnswers
        }
        let expected: [PushEnd] = [
            .answered, .withdrawn, .unknown(.overdue), .unknown(.reset), .unknown(.connectionLost),
            .notProcessed(.overdue), .notProcessed(.noConnection), .notProcessed(.refused),
            .notProcessed(.stopped),
        ]
        #expect(ends == Set(expected) && lateAnswers > 0 && missingAnswers > 0)
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
        if pool.hasQueuedRequests || pool.waitingCount != 0 || pool.backingOffCount != 0
            || pool.lateCount != 0
        {
            faults.insert("the pool's queues are not empty")
        }
        if pool.connections.contains(where: { $0.streams != 0 }) {
            faults.insert("a stream stays counted")
        }
        if !pool.isStopped {
            probe()
            stop()
        }
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
            let probe = submit(deadlines)
            live(milliseconds: 2_550)
            if let probe, requests[probe]?.end == .answered { return }
        }
        faults.insert("a pool with a working server answers no requests")
    }
}
