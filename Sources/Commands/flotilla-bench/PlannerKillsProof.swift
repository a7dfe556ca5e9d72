internal import FanOutTesting
internal import Foundation
internal import IngestTesting
internal import KafkaTesting

/// The kill test of the planner, with more sends and kills than in the tests (`PlannerKillTest`). Two processes die at
/// every step and at random while sends arrive. At the end their output must equal the model's. Afterwards the proof
/// measures how long a planner that stops or dies inside a transaction delays sends.
enum PlannerKillsProof {
    static func run(arguments: [String]) throws {
        var plan = PlannerKillTest.Plan()
        plan.sends = 100_000
        plan.randomKills = 100
        let proof = KillsProof<PlannerKillTest.Plan>(
            name: "planner-kills",
            claim: "rows, expansions and progress are exactly those that the model makes from the sends",
            flags: ["--sends": \.sends])
        // The command line can change the plan, so the test gets the plan that `run` passes on.
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await PlannerKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.sends) sends, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        for haltedPlanner in [stoppedPlanner, restartedPlanner] {
            try measureDelay(with: haltedPlanner, brokers: brokers)
        }
    }

    // MARK: Delays

    /// A way in which a planner halts inside a transaction, with the limits on the delay of sends, in seconds.
    private struct HaltedPlanner {
        let fault: PlannerDelayMeasurement.PlannerFault
        /// The fault, as the end of "a planner that is …".
        let name: String
        let embeddedBrokerSecondsMax: Double
        /// The limit for a cluster that `--bootstrap` names.
        let runningClusterSecondsMax: Double
    }

    /// The transaction's timeout, plus the time to detect it. Apache Kafka looks for such transactions every ten seconds,
    /// our broker every second.
    private static let stoppedPlanner = HaltedPlanner(
        fault: .stopped, name: "stopped", embeddedBrokerSecondsMax: 12, runningClusterSecondsMax: 22)
    /// The new process ends the transaction of the killed one, so no timeout has to pass.
    private static let restartedPlanner = HaltedPlanner(
        fault: .restarted, name: "killed and started again", embeddedBrokerSecondsMax: 1,
        runningClusterSecondsMax: 3)

    private static func measureDelay(with haltedPlanner: HaltedPlanner, brokers: [String]?) throws {
        let program = CommandLine.arguments[0]
        let cluster = try TestCluster(runningBrokers: brokers)
        let bed = try TestBed(brokers: cluster.brokers, lanes: 12)
        let directory = try BenchmarkDirectory()
        let path = directory.path
        let fault = haltedPlanner.fault
        let seconds = try runBlocking {
            try await PlannerDelayMeasurement(program: program, bed: bed, directory: path)
                .measureSeconds(with: fault)
        }
        let text = String(format: "%.2f s", seconds)
        print(
            "planner-kills: a planner that is \(haltedPlanner.name) inside a transaction delays sends by at most \(text)"
        )
        let secondsMax =
            brokers == nil ? haltedPlanner.embeddedBrokerSecondsMax : haltedPlanner.runningClusterSecondsMax
        if seconds > secondsMax { throw BenchmarkFailure("the limit is \(secondsMax) s") }
    }
}
