import Glibc
import Simulation
import Testing

@testable import Broker

/// Random histories of a log, compared with a model (`LogSimulation`). Each test has its own settings of the topic.
/// `TEST_SEED=7` runs only the history of this seed.
struct LogSimulationTests {
    private static var seeds: Range<UInt64> {
        if let seed = getenv("TEST_SEED").flatMap({ UInt64(String(cString: $0)) }) {
            return seed..<seed + 1
        }
        return 0..<UInt64(trialCount(base: 40))
    }

    /// Runs a history for each seed.
    private func run(_ shape: LogSimulation.Shape) throws {
        for seed in Self.seeds {
            do {
                try LogSimulation(seed: seed, shape: shape).run()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    @Test func `after kills of the process, a log has every append that returned`() throws {
        try run(.init())
    }

    @Test func `after power failures, a log has every acknowledged record`() throws {
        try run(.init(losesPower: true))
    }

    @Test func `with FlushPolicy.os, a log has every append after kills of the process`() throws {
        try run(.init(flush: .os))
    }

    @Test func `a compacted log that is killed at any step keeps the newest record of each key`() throws {
        try run(
            .init(settings: [
                "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.1",
                "delete.retention.ms": "60000",
            ]))
    }

    @Test func `a compacted log keeps the newest record of each key after power failures`() throws {
        try run(
            .init(
                settings: [
                    "cleanup.policy": "compact", "segment.bytes": "900", "min.cleanable.dirty.ratio": "0.01",
                    "delete.retention.ms": "5000",
                ], losesPower: true))
    }

    @Test func `a log with retention has all records from its start offset to its end`() throws {
        try run(
            .init(settings: ["segment.bytes": "300", "retention.ms": "30000", "retention.bytes": "2000"]))
    }
}
