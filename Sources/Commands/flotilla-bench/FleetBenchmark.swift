internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import ProcessTesting
internal import SenderTesting

/// The shared part of the benchmarks of a whole fleet: one process of each stage except insight, a broker,
/// and the simulated APNs with its phones.
struct FleetBenchmark {
    var phones: Int
    var updates = 60
    var plan = FleetPlan()

    /// - Parameter phones: the number of phones if the arguments do not set one.
    init(parsing arguments: [String], defaultPhones: Int) throws {
        var arguments = arguments
        self.phones = defaultPhones
        plan.brokers = try BootstrapOption.removeBrokers(from: &arguments)
        if let index = arguments.firstIndex(of: "--sealed") {
            arguments.remove(at: index)
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

    static var programsDirectory: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }

    /// Waits until all phones have reported and are started, so that updates reach them.
    static func startMatch(_ match: FleetMatch, phones: Int, on fleet: Fleet) async throws {
        var startedAt = Date()
        let reports = StepProgressReporter(name: "reports", on: fleet) { "reports arrive" }
        try await match.wait(
            for: phones, in: match.startBody(isDryRun: true), meanwhile: { try await reports.reportIfDue() })
        var seconds = Date().timeIntervalSince(startedAt)
        printIndented(
            "reports: \(grouped(Double(phones))) phones can be started after \(format(seconds: seconds)) s")
        startedAt = Date()
        let start = StepProgressReporter(name: "start", on: fleet) {
            "\(grouped(Double(try await match.deliveredPushCount()))) phones have it"
        }
        _ = try await match.send(match.startBody(), named: "start")
        try await match.wait(forDelivered: phones, meanwhile: { try await start.reportIfDue() })
        seconds = Date().timeIntervalSince(startedAt)
        printIndented("start: all phones have it after \(format(seconds: seconds)) s")
        let tokens = StepProgressReporter(name: "update tokens", on: fleet) { "tokens arrive" }
        try await match.wait(
            for: phones, in: match.updateBody(goals: 0, isDryRun: true),
            meanwhile: { try await tokens.reportIfDue() })
        seconds = Date().timeIntervalSince(startedAt)
        printIndented(
            "their update tokens are known \(format(seconds: seconds)) s after the start was accepted")
    }

    static func printIndented(_ words: String) {
        print("  \(words)")
        fflush(nil)
    }

    static func format(seconds: Double) -> String { String(format: "%.1f", seconds) }
}

/// Processor seconds of a fleet's processes, by name.
struct FleetProcessorTime {
    private let processes: [(name: String, process: Int32, before: Double)]

    init(of fleet: Fleet) {
        var all = fleet.members.map { ($0.stage.rawValue, $0.process.processID) }
        if let broker = fleet.broker { all.append(("broker", broker.processID)) }
        all.append(("simulator", fleet.simulator.processID))
        processes = all.map { (name: $0.0, process: $0.1, before: processorSeconds(of: $0.1)) }
    }

    /// The processor seconds since this value was made.
    var seconds: [(name: String, seconds: Double)] {
        processes.map { (name: $0.name, seconds: processorSeconds(of: $0.process) - $0.before) }
    }

    static let simulatorName = "simulator"
}
