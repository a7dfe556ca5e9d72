internal import Foundation
internal import IngestTesting
internal import KafkaTesting

/// The long form of a kill test: a kill at every step, and the requested number of random kills.
struct KillsProof<Plan: KillTestPlan> {
    let name: String
    /// The sentence that is true if no fault was found.
    let claim: String
    /// The numbers of the plan that have their own flags.
    let flags: [String: WritableKeyPath<Plan, Int>]

    struct Outcome: Sendable {
        let kills: Int
        let stepsMet: Set<Plan.Step>
        /// The amounts of work, as text.
        let counts: String
        let fault: String?
    }

    func run(
        plan given: Plan, arguments: [String],
        killing:
            @escaping @Sendable (Plan, _ program: String, TestBed, _ directory: String) async throws
            -> Outcome
    ) throws {
        var plan = given
        plan.freezeCount = 5
        plan.seed = UInt64.random(in: 0...999_999)
        var arguments = arguments
        let brokers = try BootstrapOption.removeBrokers(from: &arguments)
        try parse(arguments: arguments, into: &plan)
        let directory = NSTemporaryDirectory() + "flotilla-\(name)-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cluster = try TestCluster(runningBrokers: brokers)
        let bed = try TestBed(brokers: cluster.brokers, lanes: 12)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (program, last) = (CommandLine.arguments[0], plan)
        let outcome = try runBlocking { try await killing(last, program, bed, directory) }
        print(
            "\(name): seed \(plan.seed), \(outcome.kills) kills, \(plan.freezeCount) zombies, "
                + "\(outcome.stepsMet.count) of \(plan.steps.count) steps met; \(outcome.counts)")
        if let fault = outcome.fault { throw BenchmarkFailure(fault) }
        print(claim)
        let missed = plan.steps.filter { !outcome.stepsMet.contains($0) }
        if !missed.isEmpty {
            let names = missed.map { "\($0)" }.joined(separator: ", ")
            throw BenchmarkFailure(
                "these steps were never reached: \(names); the run proves nothing about a kill there")
        }
    }

    private func parse(arguments: [String], into plan: inout Plan) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
                throw BenchmarkFailure("\(name) needs a number")
            }
            switch name {
            case "--kills": plan.randomKills = number
            case "--freezes": plan.freezeCount = number
            case "--seed": plan.seed = UInt64(number)
            default:
                guard let flag = flags[name] else { throw BenchmarkFailure("\(name) is not known") }
                plan[keyPath: flag] = number
            }
        }
    }
}

/// Blocks the main thread until the task has ended.
func runBlocking<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = FirstResult<Value>()
    Task.detached {
        do { result.complete(with: .success(try await work())) } catch {
            result.complete(with: .failure(error))
        }
    }
    return try result.wait()
}
