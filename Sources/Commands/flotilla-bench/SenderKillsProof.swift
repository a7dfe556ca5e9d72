internal import Foundation
internal import KafkaTesting
internal import SenderTesting

/// The long form of the sender's kill test.
enum SenderKillsProof {
    static func run(arguments: [String]) throws {
        var arguments = arguments
        let brokers = try BootstrapOption.removeBrokers(from: &arguments)
        var plan = SenderKillTest.Plan()
        plan.jobs = 500_000
        plan.kills = 100
        plan.freezes = 20
        plan.stops = 50
        plan.brokerKills = 10
        plan.apnsKills = 10
        plan.seed = UInt64.random(in: 0...999_999)
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
                throw BenchmarkFailure("\(name) needs a number")
            }
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
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().path
        print(
            "sender-kills: seed \(plan.seed), \(plan.jobs) jobs, \(plan.kills) SIGKILLs, \(plan.freezes) freezes, "
                + "\(plan.stops) SIGTERMs; \(brokers == nil ? plan.brokerKills : 0) kills of the broker, "
                + "\(plan.apnsKills) of APNs")
        let (path, last) = (directory.path, plan)
        let verdict = try runBlocking {
            try await SenderKillTest(plan: last, programs: programs, brokers: brokers, directory: path).run()
        }
        print(verdict.summary)
        guard verdict.faults.isEmpty else {
            throw BenchmarkFailure(verdict.faults.joined(separator: "\n"))
        }
        print("every job was done once; no phone got an older state after a newer one")
    }
}
