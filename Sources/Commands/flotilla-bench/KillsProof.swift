internal import Foundation
internal import IngestTesting
internal import KafkaTesting

/// The long form of a kill test: a kill at every step, and the requested number of random kills.
struct KillsProof<Plan: KillPlan> {
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
        _ given: Plan, _ arguments: [String],
        killing:
            @escaping @Sendable (Plan, _ program: String, IngestBed, _ directory: String) async throws
            -> Outcome
    ) throws {
        var plan = given
        plan.freezes = 5
        plan.seed = UInt64.random(in: 0...999_999)
        var arguments = arguments
        let brokers = try Bootstrap.take(from: &arguments)
        try read(arguments, into: &plan)
        let directory = NSTemporaryDirectory() + "flotilla-\(name)-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cluster = try TestCluster(brokers)
        let bed = try IngestBed(cluster.brokers, lanes: 12)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (program, last) = (CommandLine.arguments[0], plan)
        let outcome = try waiting { try await killing(last, program, bed, directory) }
        print(
            "\(name): seed \(plan.seed), \(outcome.kills) kills, \(plan.freezes) zombies, "
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

    private func read(_ arguments: [String], into plan: inout Plan) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
                throw BenchmarkFailure("\(name) needs a number")
            }
            switch name {
            case "--kills": plan.randomKills = number
            case "--freezes": plan.freezes = number
            case "--seed": plan.seed = UInt64(number)
            default:
                guard let flag = flags[name] else { throw BenchmarkFailure("\(name) is not known") }
                plan[keyPath: flag] = number
            }
        }
    }
}

/// Blocks the main thread until the task has ended.
func waiting<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = FirstResult<Value>()
    Task.detached {
        do { result.give(.success(try await work())) } catch { result.give(.failure(error)) }
    }
    return try result.wait()
}
