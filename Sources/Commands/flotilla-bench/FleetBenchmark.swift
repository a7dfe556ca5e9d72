internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import ProcessTesting
internal import SenderTesting

/// The options of `DayBenchmark` and `MillionBenchmark`, and the steps that both begin with. Both measure a fleet: one
/// process of each stage except insight, a broker, and the simulated APNs with its phones.
struct FleetBenchmark {
    var phones: Int
    /// The updates of the match. `MillionBenchmark` has a fixed number instead.
    var updates = 60
    /// The size and settings of the fleet. `phones` is in it too.
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
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        plan.phones = phones
    }

    /// The directory of this program, which also has `flotilla`.
    static var programsDirectory: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }

    // MARK: The start of a match

    /// Waits until all phones have reported, starts the match for everyone, and waits until updates reach all phones.
    static func startMatch(_ match: FleetMatch, phones: Int, on fleet: Fleet) async throws {
        try await waitForReports(of: phones, in: match, on: fleet)
        let startedAt = Date()
        try await sendStart(of: match, to: phones, on: fleet)
        printIndented("start: all phones have it after \(format(secondsSince: startedAt)) s")
        try await waitForUpdateTokens(of: phones, in: match, on: fleet)
        printIndented(
            "their update tokens are known \(format(secondsSince: startedAt)) s after the start was accepted")
    }

    /// Waits until ingest knows a start token of each phone, which a dry run of the start counts.
    private static func waitForReports(of phones: Int, in match: FleetMatch, on fleet: Fleet) async throws {
        let waitStartedAt = Date()
        let progress = StepProgressReporter(name: "reports", on: fleet) { "reports arrive" }
        try await match.waitUntilFound(
            phones: phones, byDryRun: match.startBody(isDryRun: true),
            meanwhile: { try await progress.reportIfDue() })
        printIndented(
            "reports: \(grouped(Double(phones))) phones can be started after \(format(secondsSince: waitStartedAt)) s"
        )
    }

    private static func sendStart(of match: FleetMatch, to phones: Int, on fleet: Fleet) async throws {
        let progress = StepProgressReporter(name: "start", on: fleet) {
            "\(grouped(Double(try await match.deliveredPushCount()))) phones have it"
        }
        _ = try await match.send(match.startBody(), named: "start")
        try await match.waitUntilDelivered(pushes: phones, meanwhile: { try await progress.reportIfDue() })
    }

    /// Waits until each started phone has reported its update token, which a dry run of an update counts.
    private static func waitForUpdateTokens(of phones: Int, in match: FleetMatch, on fleet: Fleet)
        async throws
    {
        let progress = StepProgressReporter(name: "update tokens", on: fleet) { "tokens arrive" }
        try await match.waitUntilFound(
            phones: phones, byDryRun: match.updateBody(goals: 0, isDryRun: true),
            meanwhile: { try await progress.reportIfDue() })
    }

    // MARK: Output

    /// Prints a line at once, also if the output is a file.
    static func printIndented(_ line: String) {
        print("  \(line)")
        fflush(nil)
    }

    /// Returns the number with one decimal.
    static func format(seconds: Double) -> String { String(format: "%.1f", seconds) }

    private static func format(secondsSince time: Date) -> String {
        format(seconds: Date().timeIntervalSince(time))
    }
}
