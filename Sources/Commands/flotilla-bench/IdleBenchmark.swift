internal import Foundation
internal import Glibc
internal import InstallationTesting
internal import ProcessTesting

/// A measurement of `flotilla up` while nothing happens: its resident memory and its processor time.
enum IdleBenchmark {
    static let residentMiBWanted = 100
    /// The wanted processor time, in percent of a core.
    static let processorPercentWanted = 2.0
    private static let measuredSecondsDefault = 60
    /// The time for groups to form, views to load and connections to open.
    private static let settleSeconds = 20.0

    static func run(arguments: [String]) throws {
        let measuredSeconds = try readMeasuredSeconds(from: arguments)
        let directory = try BenchmarkDirectory()
        let path = directory.path
        try runBlocking { try await measure(forSeconds: measuredSeconds, in: path) }
    }

    /// Returns the duration of the measurement, which `--seconds N` sets.
    private static func readMeasuredSeconds(from arguments: [String]) throws -> Int {
        var reader = OptionReader(arguments)
        var seconds = measuredSecondsDefault
        while let (name, number) = try reader.nextNumberAboveZero() {
            guard name == "--seconds" else { throw BenchmarkFailure.unknownOption(name) }
            seconds = number
        }
        return seconds
    }

    private static func measure(forSeconds measuredSeconds: Int, in directory: String) async throws {
        let process = try startInstallation(in: directory)
        try await process.waitForOutput(containing: "sender: lanes assigned")
        try await Task.sleep(for: .seconds(settleSeconds))
        let processorSecondsBefore = processorSeconds(of: process.processID)
        try await Task.sleep(for: .seconds(measuredSeconds))
        let usedSeconds = processorSeconds(of: process.processID) - processorSecondsBefore
        let percent = 100 * usedSeconds / Double(measuredSeconds)
        let residentMiB = residentMemoryMiB(of: process.processID)
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
        print(
            "idle: \(residentMiB) MiB resident, wanted under \(residentMiBWanted); "
                + String(format: "%.1f", percent)
                + " % of a core over \(measuredSeconds) s, wanted under "
                + String(format: "%.0f", processorPercentWanted))
        guard residentMiB < residentMiBWanted, percent < processorPercentWanted else {
            throw BenchmarkFailure("an idle installation costs too much")
        }
    }

    private static func startInstallation(in directory: String) throws -> ChildProcess {
        let anyFreePort = "127.0.0.1:0"
        return try ChildProcess(
            "\(FleetBenchmark.programsDirectory)/flotilla",
            arguments: [
                "up", "--data", directory, "--broker-listen", anyFreePort, "--admin-listen", anyFreePort,
                "--gateway-listen", anyFreePort, "--log-format", "text",
            ])
    }
}
