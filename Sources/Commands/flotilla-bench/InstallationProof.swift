internal import Foundation
internal import InstallationTesting

/// The long form of the installation test.
enum InstallationProof {
    static func run(arguments: [String]) throws {
        var arguments = arguments
        let brokers = try BootstrapOption.removeBrokers(from: &arguments)
        var plan = InstallationKillTest.Plan()
        plan.seed = UInt64.random(in: 0...999_999)
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                throw BenchmarkFailure("\(name) needs a number above 0")
            }
            switch name {
            case "--phones": plan.phones = number
            case "--updates": plan.updates = number
            case "--each": plan.processesPerStage = number
            case "--faults": plan.faultsMax = number
            case "--pace": plan.faultIntervalMilliseconds = number
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        let directory = try BenchmarkDirectory()
        print(
            "installation: seed \(plan.seed), \(plan.processesPerStage) of each stage, \(plan.phones) phones, \(plan.updates) updates"
        )
        fflush(nil)
        let (path, last) = (directory.path, plan)
        let verdict: InstallationCheck
        do {
            verdict = try runBlocking {
                try await InstallationKillTest(
                    plan: last, programs: FleetBenchmark.programsDirectory, brokers: brokers, directory: path
                ).run()
            }
        } catch {
            directory.keep()
            throw error
        }
        print(verdict.summary)
        guard verdict.faults.isEmpty else {
            directory.keep()
            throw BenchmarkFailure(verdict.faults.joined(separator: "\n"))
        }
        print("every guarantee was kept")
    }
}
