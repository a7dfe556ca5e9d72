internal import Foundation
internal import KafkaTesting
internal import SenderTesting

/// The long form of the sender's kill test. It also kills the broker and the simulated APNs.
enum SenderKillsProof {
    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        var plan = SenderKillTest.Plan()
        plan.jobs = 500_000
        plan.kills = 100
        plan.freezes = 20
        plan.stops = 50
        plan.brokerKills = 10
        plan.apnsKills = 10
        plan.seed = UInt64.random(in: 0...999_999)
        while let (name, number) = try reader.nextNumber() {
            switch name {
            case "--jobs": plan.jobs = number
            case "--kills": plan.kills = number
            case "--freezes": plan.freezes = number
            case "--stops": plan.stops = number
            case "--broker-kills": plan.brokerKills = number
            case "--apns-kills": plan.apnsKills = number
            case "--permits": plan.permits = max(1, number)
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        let directory = try BenchmarkDirectory()
        print(
            "sender-kills: seed \(plan.seed), \(plan.jobs) jobs, \(plan.kills) SIGKILLs, \(plan.freezes) freezes, "
                + "\(plan.stops) SIGTERMs; \(brokers == nil ? plan.brokerKills : 0) kills of the broker, "
                + "\(plan.apnsKills) of APNs")
        let (path, finalPlan) = (directory.path, plan)
        let verdict = try runBlocking {
            try await SenderKillTest(
                plan: finalPlan, programs: FleetBenchmark.programsDirectory, brokers: brokers, directory: path
            ).run()
        }
        print(verdict.summary)
        guard verdict.faults.isEmpty else {
            throw BenchmarkFailure(verdict.faults.joined(separator: "\n"))
        }
        print("every job was done once; no phone got an older state after a newer one")
    }
}
