internal import FanOutTesting
internal import Foundation
internal import IngestTesting
internal import KafkaTesting

enum PlannerKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = PlannerKills.Plan()
        plan.sends = 100_000
        plan.randomKills = 100
        let proof = KillsProof<PlannerKills.Plan>(
            name: "planner-kills",
            claim: "rows, expansions and progress are exactly those that the core makes from the sends",
            flags: ["--sends": \.sends])
        try proof.run(plan, arguments) { plan, program, bed, directory in
            let result = try await PlannerKills(plan, program: program, bed: bed, directory: directory).run()
            return .init(
                kills: result.kills, stepsMet: result.stepsMet,
                counts: "\(result.sends) sends, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
        try holdUps(arguments)
    }

    /// The limit, in seconds, on how long a stopped planner may delay sends: the transaction's timeout plus
    /// the time to detect it. Apache Kafka looks for such transactions every ten seconds, our broker every
    /// second.
    private static let stopSecondsMax = (own: 12.0, given: 22.0)
    /// The same limit for a planner that is killed inside a transaction and restarted at once.
    private static let restartSecondsMax = (own: 1.0, given: 3.0)

    private static func holdUps(_ arguments: [String]) throws {
        var arguments = arguments
        let brokers = try Bootstrap.take(from: &arguments)
        let program = CommandLine.arguments[0]
        for (trouble, name, most) in [
            (PlannerHoldUp.Trouble.stopped, "stopped", stopSecondsMax),
            (.restarted, "killed and started again", restartSecondsMax),
        ] {
            let cluster = try TestCluster(brokers)
            let bed = try IngestBed(cluster.brokers, lanes: 12)
            let directory = try BenchmarkDirectory()
            let path = directory.path
            let seconds = try waiting {
                try await PlannerHoldUp(program: program, bed: bed, directory: path).seconds(of: trouble)
            }
            let limit = brokers == nil ? most.own : most.given
            let text = String(format: "%.2f s", seconds)
            print(
                "planner-kills: a planner that is \(name) inside a transaction delays sends by at most \(text)"
            )
            if seconds > limit { throw BenchmarkFailure("the limit is \(limit) s") }
        }
    }
}
