internal import Foundation
internal import KafkaTesting
internal import SenderTesting

/// The kill test of the sender, with more jobs and faults than in the tests (`SenderKillTest`). Two senders are killed,
/// frozen and stopped while jobs arrive, and the broker and the simulated APNs are killed. At the end each job must be
/// done once.
enum SenderKillsProof {
    private struct Options {
        var plan = SenderKillTest.Plan()
        /// A running cluster to use, whose brokers are not killed. Without it the test starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            plan.jobs = 500_000
            plan.kills = 100
            plan.freezes = 20
            plan.stops = 50
            plan.brokerKills = 10
            plan.apnsKills = 10
            plan.seed = UInt64.random(in: 0...999_999)
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
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
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let (plan, brokers) = (options.plan, options.brokers)
        let directory = try BenchmarkDirectory()
        let path = directory.path
        print(
            "sender-kills: seed \(plan.seed), \(plan.jobs) jobs, \(plan.kills) SIGKILLs, \(plan.freezes) freezes, "
                + "\(plan.stops) SIGTERMs; \(brokers == nil ? plan.brokerKills : 0) kills of the broker, "
                + "\(plan.apnsKills) of APNs")
        let verdict = try runBlocking {
            try await SenderKillTest(
                plan: plan, programs: FleetBenchmark.programsDirectory, brokers: brokers, directory: path
            ).run()
        }
        print(verdict.summary)
        guard verdict.faults.isEmpty else {
            throw BenchmarkFailure(verdict.faults.joined(separator: "\n"))
        }
        print("every job was done once; no phone got an older state after a newer one")
    }
}
