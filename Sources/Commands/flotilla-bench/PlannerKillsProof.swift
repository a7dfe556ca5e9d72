internal import FanOutTesting
internal import Foundation
internal import IngestTesting
internal import KafkaTesting

/// The long form of the planner's kill test.
/// It also measures how long a stopped and a restarted planner delay sends.
enum PlannerKillsProof {
    static func run(arguments: [String]) throws {
        var plan = PlannerKillTest.Plan()
        plan.sends = 100_000
        plan.randomKills = 100
        let proof = KillsProof<PlannerKillTest.Plan>(
            name: "planner-kills",
            claim: "rows, expansions and progress are exactly those that the core makes from the sends",
            flags: ["--sends": \.sends])
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await PlannerKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.sends) sends, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
        try measureDelays(arguments: arguments)
    }

    /// A limit on the delay of sends, in seconds: for our broker, and for a cluster that `--bootstrap` names.
    private typealias DelayLimit = (own: Double, given: Double)

    /// The limit for a planner that stops inside a transaction: the transaction's timeout plus the time to
    /// detect it. Apache Kafka looks for such transactions every ten seconds, our broker every second.
    private static let stopDelaySecondsMax: DelayLimit = (own: 12.0, given: 22.0)
    /// The limit for a planner that is killed inside a transaction and restarted at once.
    private static let restartDelaySecondsMax: DelayLimit = (own: 1.0, given: 3.0)

    private static func measureDelays(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        let program = CommandLine.arguments[0]
        for (fault, faultName, delaySecondsMax) in [
            (PlannerDelayMeasurement.PlannerFault.stopped, "stopped", stopDelaySecondsMax),
            (.restarted, "killed and started again", restartDelaySecondsMax),
        ] {
            let cluster = try TestCluster(runningBrokers: brokers)
            let bed = try TestBed(brokers: cluster.brokers, lanes: 12)
            let directory = try BenchmarkDirectory()
            let path = directory.path
            let seconds = try runBlocking {
                try await PlannerDelayMeasurement(program: program, bed: bed, directory: path).measureSeconds(
                    with: fault)
            }
            let limit = brokers == nil ? delaySecondsMax.own : delaySecondsMax.given
            let text = String(format: "%.2f s", seconds)
            print(
                "planner-kills: a planner that is \(faultName) inside a transaction delays sends by at most \(text)"
            )
            if seconds > limit { throw BenchmarkFailure("the limit is \(limit) s") }
        }
    }
}
