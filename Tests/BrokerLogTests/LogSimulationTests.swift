import Glibc
import Simulation
import Testing

@testable import Broker

/// Random lives of a log against a model. `TEST_SEED=7` runs one.
struct LogSimulationTests {
    private static var seeds: Range<UInt64> {
        if let one = getenv("TEST_SEED").flatMap({ UInt64(String(cString: $0)) }) {
            return one..<one + 1
        }
        return 0..<UInt64(trialCount(base: 40))
    }

    private func run(_ shape: LogSimulation.Shape) throws {
        for seed in Self.seeds {
            do {
                try LogSimulation(seed: seed, shape: shape).run()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    @Test func `a log that lives through killed processes holds every append that returned`() throws {
        try run(.init())
    }

    @Test func `a log that lives through power failures holds everything that was acknowledged`() throws {
        try run(.init(losesPower: true))
    }

    @Test func `a log at the system's pace lives through killed processes`() throws {
        try run(.init(flush: .os))
    }

    @Test func `a compacted log that is killed at any step keeps the newest record of each key`() throws {
        try run(
            .init(settings: [
                "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.1",
                "delete.retention.ms": "60000",
            ]))
    }

    @Test func `a compacted log lives through power failures`() throws {
        try run(
            .init(
                settings: [
                    "cleanup.policy": "compact", "segment.bytes": "900", "min.cleanable.dirty.ratio": "0.01",
                    "delete.retention.ms": "5000",
                ], losesPower: true))
    }

    @Test func `a log with retention keeps an unbroken end`() throws {
        try run(
            .init(settings: ["segment.bytes": "300", "retention.ms": "30000", "retention.bytes": "2000"]))
    }
}
