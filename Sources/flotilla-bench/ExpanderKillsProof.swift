internal import FanOutTesting
internal import Foundation
internal import IngestTesting
internal import KafkaTesting

/// The long form of the expander's kill test: every step, and as many random kills as asked for.
enum ExpanderKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = ExpanderKills.Plan()
        plan.phones = 100_000
        plan.randomKills = 100
        plan.freezes = 5
        plan.seed = UInt64.random(in: 0...999_999)
        var arguments = arguments
        let brokers = try Bootstrap.take(from: &arguments)
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
                throw BenchmarkFailure("\(name) needs a number")
            }
            switch name {
            case "--phones": plan.phones = number
            case "--kills": plan.randomKills = number
            case "--freezes": plan.freezes = number
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        let directory = NSTemporaryDirectory() + "flotilla-fan-out-kills-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cluster = try TestCluster(brokers)
        let bed = try IngestBed(cluster.brokers, lanes: 12)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (program, last) = (CommandLine.arguments[0], plan)
        let result = try waiting {
            try await ExpanderKills(last, program: program, bed: bed, directory: directory).run()
        }
        print(
            "fan-out-kills: seed \(plan.seed), \(result.kills) kills, \(plan.freezes) zombies, "
                + "\(result.stepsMet.count) of \(plan.steps.count) steps met; \(result.sends) sends, "
                + "\(result.jobs) jobs")
        if let fault = result.fault { throw BenchmarkFailure(fault) }
        print("each token has exactly one job of each send")
        let missed = plan.steps.filter { !result.stepsMet.contains($0) }
        if !missed.isEmpty {
            let names = missed.map { "\($0)" }.joined(separator: ", ")
            throw BenchmarkFailure("not met: \(names); it shows nothing about dying there")
        }
    }
}
