internal import Foundation
internal import InstallationTesting

/// The long form of the idle-time test: a whole fleet is idle until retention has emptied its topics, and
/// then works again.
enum IdleProof {
    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        var plan = InstallationIdleTest.Plan()
        while let (name, number) = try reader.nextNumberAboveZero() {
            switch name {
            case "--phones": plan.phones = number
            case "--updates": plan.updates = number
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        let directory = try BenchmarkDirectory()
        let finalPlan = plan
        try directory.runProof { path in
            let faults = try runBlocking {
                try await InstallationIdleTest(
                    plan: finalPlan, programs: FleetBenchmark.programsDirectory, brokers: brokers,
                    directory: path
                ).run()
            }
            if !faults.isEmpty { throw BenchmarkFailure(faults.joined(separator: "\n")) }
        }
        print(
            "\(plan.phones) phones show the newest state after each of two idle times")
    }
}
