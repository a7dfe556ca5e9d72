internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import ProcessTesting
internal import SenderTesting

/// The options and the first steps of a benchmark of a whole fleet: one process of each stage except insight,
/// a broker, and the simulated APNs with its phones.
struct FleetBenchmark {
    var phones: Int
    var updates = 60
    var plan = FleetPlan()

    /// - Parameter defaultPhones: the number of phones if the arguments do not set one.
    init(parsing arguments: [String], defaultPhones: Int) throws {
        var reader = OptionReader(arguments)
        phones = defaultPhones
        plan.brokers = try reader.removeBrokers()
        if reader.removeFlag(named: "--sealed") { plan.isSealed = true }
        while let (name, number) = try reader.nextNumberAboveZero() {
            switch name {
            case "--phones": phones = number
            case "--updates": updates = number
            default:
                throw BenchmarkFailure("\(name) is not known; use --phones, --updates, --sealed, --bootstrap")
            }
        }
        plan.phones = phones
    }

    /// The directory of this program, which also has `flotilla`.
    static var programsDirectory: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }

    /// Waits until all phones have reported and are started, so that updates reach them.
    static func startMatch(_ match: FleetMatch, phones: Int, on fleet: Fleet) async throws {
        var startedAt = Date()
        let reportProgress = StepProgressReporter(name: "reports", on: fleet) { "reports arrive" }
        try await match.wait(
            for: phones, in: match.startBody(isDryRun: true),
            meanwhile: { try await reportProgress.reportIfDue() })
        var seconds = Date().timeIntervalSince(startedAt)
        printIndented(
            "reports: \(grouped(Double(phones))) phones can be started after \(format(seconds: seconds)) s")
        startedAt = Date()
        let startProgress = StepProgressReporter(name: "start", on: fleet) {
            "\(grouped(Double(try await match.deliveredPushCount()))) phones have it"
        }
        _ = try await match.send(match.startBody(), named: "start")
        try await match.wait(forDelivered: phones, meanwhile: { try await startProgress.reportIfDue() })
        seconds = Date().timeIntervalSince(startedAt)
        printIndented("start: all phones have it after \(format(seconds: seconds)) s")
        let tokenProgress = StepProgressReporter(name: "update tokens", on: fleet) { "tokens arrive" }
        try await match.wait(
            for: phones, in: match.updateBody(goals: 0, isDryRun: true),
            meanwhile: { try await tokenProgress.reportIfDue() })
        seconds = Date().timeIntervalSince(startedAt)
        printIndented(
            "their update tokens are known \(format(seconds: seconds)) s after the start was accepted")
    }

    /// Prints a line at once, also if the output is a file.
    static func printIndented(_ line: String) {
        print("  \(line)")
        fflush(nil)
    }

    static func format(seconds: Double) -> String { String(format: "%.1f", seconds) }
}
