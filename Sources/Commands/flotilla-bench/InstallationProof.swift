internal import Foundation
internal import InstallationTesting

/// The long form of the installation test: processes of a whole fleet are killed, frozen, stopped and started
/// while a match is updated.
enum InstallationProof {
    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        var plan = InstallationKillTest.Plan()
        plan.seed = UInt64.random(in: 0...999_999)
        while let (name, number) = try reader.nextNumberAboveZero() {
            switch name {
            case "--phones": plan.phones = number
            case "--updates": plan.updates = number
            case "--each": plan.processesPerStage = number
            case "--faults": plan.faultsMax = number
            case "--pace": plan.faultIntervalMilliseconds = number
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        let directory = try BenchmarkDirectory()
        print(
            "installation: seed \(plan.seed), \(plan.processesPerStage) of each stage, \(plan.phones) phones, \(plan.updates) updates"
        )
        fflush(nil)
        let finalPlan = plan
        try directory.runProof { path in
            let verdict = try runBlocking {
                try await InstallationKillTest(
                    plan: finalPlan, programs: FleetBenchmark.programsDirectory, brokers: brokers,
                    directory: path
                ).run()
            }
            print(verdict.summary)
            if !verdict.faults.isEmpty { throw BenchmarkFailure(verdict.faults.joined(separator: "\n")) }
        }
        print("every guarantee was kept")
    }
}
