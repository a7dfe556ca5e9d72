internal import Foundation
internal import SenderHistories

/// New random histories of senders, on all processors and with an optimized build. In a minute it runs far
/// more than a test of a debug build can.
enum SenderHistoriesProof {
    private static let historiesDefault = 20_000
    /// One in this many histories uses the production connection pools, because they cost more.
    private static let productionPoolsEvery: UInt64 = 10
    /// One in this many of the others has jobs that newer ones replace, and slow event loops.
    private static let overtakenEvery: UInt64 = 9

    static func run(arguments: [String]) throws {
        var count = historiesDefault
        var firstSeed = UInt64.random(in: .min ... .max)
        var reader = OptionReader(arguments)
        while let name = reader.nextName() {
            // A seed has 64 bits without a sign.
            guard let number = UInt64(try reader.text(of: name)) else {
                throw BenchmarkFailure("\(name) needs a number")
            }
            switch name {
            case "--histories": count = Int(clamping: number)
            case "--seed": firstSeed = number
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        let threads = ProcessInfo.processInfo.activeProcessorCount
        let startedAt = Date()
        let faults: [String] = try runBlocking { [firstSeed, count] in
            await withTaskGroup(of: [String].self, returning: [String].self) { group in
                for thread in 0..<threads {
                    group.addTask {
                        stride(from: thread, to: count, by: threads).flatMap {
                            runHistory(number: $0, firstSeed: firstSeed)
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
        }
        let seconds = Date().timeIntervalSince(startedAt)
        print(
            "sender-histories: \(count) from seed \(firstSeed) on \(threads) processors, "
                + "\(String(format: "%.1f", seconds)) s")
        guard faults.isEmpty else { throw BenchmarkFailure(faults.prefix(5).joined(separator: "\n")) }
        print("after every step, each job had its receipt, and no start was pushed twice")
    }

    private static func runHistory(number: Int, firstSeed: UInt64) -> [String] {
        let seed = firstSeed &+ UInt64(number)
        // The pools and the kind do not depend on the bit of the seed that decides about deaths, so that all
        // combinations occur.
        let usesRealPools = seed / 4 % productionPoolsEvery == 0
        let isOvertaken = !usesRealPools && seed / 4 % overtakenEvery == 0
        let history = SenderHistory(
            seed: seed, kind: isOvertaken ? .overtaken : .mixed, hasKillsAndStops: seed / 2 % 2 == 0,
            usesRealPools: usesRealPools)
        guard !history.violations.isEmpty else { return [] }
        return history.violations + ["repeat with: sender-histories --histories 1 --seed \(seed)"]
    }
}
