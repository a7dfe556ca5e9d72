internal import Glibc
internal import IngestTesting
internal import KafkaTesting

/// The long form of a kill test: a stage is killed at every step and then at random, while records arrive.
/// Each stage has its own test, which the closure of `run` starts.
struct KillsProof<Plan: KillTestPlan> {
    let name: String
    /// The sentence that the proof prints if no fault was found.
    let claim: String
    /// The options of this test alone, such as `--reports`. Each sets a number of the plan.
    let flags: [String: WritableKeyPath<Plan, Int>]

    /// The result of the test.
    struct Outcome: Sendable {
        let kills: Int
        let stepsMet: Set<Plan.Step>
        /// The amounts of work, as text.
        let counts: String
        /// The first fault, or nil if the test found none.
        let fault: String?
    }

    /// Runs the test. Throws if it found a fault or never reached one of the plan's steps.
    func run(
        plan defaultPlan: Plan, arguments: [String],
        killing:
            @escaping @Sendable (Plan, _ program: String, TestBed, _ directory: String) async throws
            -> Outcome
    ) throws {
        var plan = defaultPlan
        plan.freezeCount = 5
        plan.seed = UInt64.random(in: 0...999_999)
        let name = name
        plan.report = { line in
            print("\(name): \(line)")
            fflush(nil)
        }
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        try parse(options: &reader, into: &plan)
        let directory = try BenchmarkDirectory()
        let cluster = try TestCluster(runningBrokers: brokers)
        let bed = try TestBed(brokers: cluster.brokers, lanes: 12)
        let (program, finalPlan, path) = (CommandLine.arguments[0], plan, directory.path)
        let outcome = try runBlocking { try await killing(finalPlan, program, bed, path) }
        print(
            "\(name): seed \(plan.seed), \(outcome.kills) kills, \(plan.freezeCount) zombies, "
                + "\(outcome.stepsMet.count) of \(plan.steps.count) steps met; \(outcome.counts)")
        if let fault = outcome.fault { throw BenchmarkFailure(fault) }
        print(claim)
        let missedSteps = plan.steps.filter { !outcome.stepsMet.contains($0) }
        if !missedSteps.isEmpty {
            let names = missedSteps.map { "\($0)" }.joined(separator: ", ")
            throw BenchmarkFailure(
                "these steps were never reached: \(names); the run proves nothing about a kill there")
        }
    }

    private func parse(options reader: inout OptionReader, into plan: inout Plan) throws {
        while let (name, number) = try reader.nextNumber() {
            switch name {
            case "--kills": plan.randomKills = number
            case "--freezes": plan.freezeCount = number
            case "--seed": plan.seed = UInt64(number)
            default:
                guard let numberPath = flags[name] else { throw BenchmarkFailure.unknownOption(name) }
                plan[keyPath: numberPath] = number
            }
        }
    }
}
