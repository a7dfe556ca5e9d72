internal import Foundation
internal import InstallationTesting

/// The long form of the idle-time test.
enum IdleProof {
    static func run(arguments: [String]) throws {
        var arguments = arguments
        let brokers = try BootstrapOption.removeBrokers(from: &arguments)
        var plan = InstallationIdleTest.Plan()
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                throw BenchmarkFailure("\(name) needs a number above 0")
            }
            switch name {
            case "--phones": plan.phones = number
            case "--updates": plan.updates = number
            default: throw BenchmarkFailure("\(name) is not known; use --phones, --updates, --bootstrap")
            }
        }
        let directory = try BenchmarkDirectory()
        let (path, last) = (directory.path, plan)
        do {
            let faults = try runBlocking {
                try await InstallationIdleTest(
                    plan: last, programs: FleetBenchmark.programsDirectory, brokers: brokers, directory: path
                ).run()
            }
            guard faults.isEmpty else { throw BenchmarkFailure(faults.joined(separator: "\n")) }
        } catch {
            directory.keep()
            throw error
        }
        print(
            "\(plan.phones) phones show the newest state after each of two idle times")
    }
}
