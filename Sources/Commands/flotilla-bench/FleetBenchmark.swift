internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import LiveActivity
internal import ProcessTesting
internal import SenderTesting

/// The shared part of the benchmarks of a whole fleet: one process of each stage except insight, a broker,
/// and the simulated APNs with its phones.
struct FleetBenchmark {
    var phones: Int
    var updates = 60
    var plan = FleetPlan()

    /// - Parameter phones: the number of phones if the arguments do not set one.
    init(_ arguments: [String], phones: Int) throws {
        var arguments = arguments
        self.phones = phones
        plan.brokers = try Bootstrap.take(from: &arguments)
        if let place = arguments.firstIndex(of: "--sealed") {
            arguments.remove(at: place)
            plan.isSealed = true
        }
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                throw BenchmarkFailure("\(name) needs a number above 0")
            }
            switch name {
            case "--phones": self.phones = number
            case "--updates": updates = number
            default:
                throw BenchmarkFailure("\(name) is not known; use --phones, --updates, --sealed, --bootstrap")
            }
        }
        plan.phones = self.phones
    }

    static var programs: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }

    /// Waits until all phones have reported and are started, so that updates reach them.
    static func begin(_ match: FleetMatch, _ phones: Int, on fleet: Fleet) async throws {
        var begun = Date()
        let reports = SlowStep("reports", on: fleet) { "reports arrive" }
        try await match.waits(
            for: phones, in: match.start(isDryRun: true), meanwhile: { try await reports.look() })
        var seconds = Date().timeIntervalSince(begun)
        say("reports: \(grouped(Double(phones))) phones can be started after \(text(seconds)) s")
        begun = Date()
        let start = SlowStep("start", on: fleet) {
            "\(grouped(Double(try await match.delivered()))) phones have it"
        }
        _ = try await match.send(match.start(), "start")
        try await match.waits(forDelivered: phones, meanwhile: { try await start.look() })
        seconds = Date().timeIntervalSince(begun)
        say("start: all phones have it after \(text(seconds)) s")
        let tokens = SlowStep("update tokens", on: fleet) { "tokens arrive" }
        try await match.waits(
            for: phones, in: match.update(0, isDryRun: true), meanwhile: { try await tokens.look() })
        seconds = Date().timeIntervalSince(begun)
        say("their update tokens are known \(text(seconds)) s after the start was accepted")
    }

    static func say(_ words: String) {
        print("  \(words)")
        fflush(nil)
    }

    static func text(_ seconds: Double) -> String { String(format: "%.1f", seconds) }
}

/// Processor seconds of a fleet's processes, by name.
struct FleetCost {
    private let used: [(name: String, process: Int32, before: Double)]

    init(_ fleet: Fleet) {
        var all = fleet.members.map { ($0.stage.rawValue, $0.process.identifier) }
        if let broker = fleet.broker { all.append(("broker", broker.identifier)) }
        all.append(("simulator", fleet.simulator.identifier))
        used = all.map { (name: $0.0, process: $0.1, before: processorSeconds(of: $0.1)) }
    }

    /// The processor seconds since this value was made.
    var seconds: [(name: String, seconds: Double)] {
        used.map { (name: $0.name, seconds: processorSeconds(of: $0.process) - $0.before) }
    }

    static let simulator = "simulator"
}
