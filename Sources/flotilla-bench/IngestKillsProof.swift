internal import Foundation
internal import Ingest
internal import IngestTesting
internal import KafkaTesting

/// The long form of the kill test: every step, and as many random kills as asked for.
enum IngestKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = IngestKills.Plan()
        plan.reports = 100_000
        plan.installations = 20_000
        plan.randomKills = 300
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
            case "--reports": plan.reports = number
            case "--installations": plan.installations = number
            case "--kills": plan.randomKills = number
            case "--freezes": plan.freezes = number
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        let directory = NSTemporaryDirectory() + "flotilla-ingest-kills-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cluster = try TestCluster(brokers)
        let bed = try IngestBed(cluster.brokers, lanes: 12)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (program, last) = (CommandLine.arguments[0], plan)
        let result = try waiting {
            try await IngestKills(last, program: program, bed: bed, directory: directory).run()
        }
        print(
            "ingest-kills: seed \(plan.seed), \(result.kills) kills, \(plan.freezes) zombies, "
                + "\(result.stepsMet.count) of \(plan.steps.count) steps met; \(result.reports) records of reports, "
                + "\(result.rows) rows, \(result.events) events, \(result.deadLetters) dead letters")
        if let fault = result.fault { throw BenchmarkFailure(fault) }
        print("the registry and the events are exactly what the core makes of the reports")
        let missed = plan.steps.filter { !result.stepsMet.contains($0.rawValue) }
        if !missed.isEmpty {
            let names = missed.map { "\($0)" }.joined(separator: ", ")
            throw BenchmarkFailure("not met: \(names); it shows nothing about dying there")
        }
    }
}

/// Waits on the main thread for what tasks do.
func waiting<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let box = ResultBox<Value>()
    Task.detached {
        do { box.result = .success(try await work()) } catch { box.result = .failure(error) }
        done.signal()
    }
    done.wait()
    return try box.result!.get()
}

/// `@unchecked Sendable`: written before the signal, read after it.
private final class ResultBox<Value>: @unchecked Sendable { var result: Result<Value, any Error>? }
