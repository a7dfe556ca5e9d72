internal import Foundation
internal import Glibc
internal import InstallationTesting
internal import ProcessTesting

/// The cost of `flotilla up` while nothing happens.
enum IdleBenchmark {
    static let residentMiBWanted = 100
    static let processorPercentWanted = 2.0
    /// The time for groups to form, views to load and connections to open.
    private static let settleSeconds = 20.0

    static func run(arguments: [String]) throws {
        guard arguments.isEmpty || arguments.count == 2 && arguments[0] == "--seconds",
            let seconds = arguments.last.map({ Double($0) }) ?? 60, seconds >= 1
        else { throw BenchmarkFailure("idle knows --seconds N") }
        let directory = try BenchmarkDirectory()
        let path = directory.path
        try runBlocking { try await measure(in: path, seconds: seconds) }
    }

    private static func measure(in directory: String, seconds: Double) async throws {
        let anyFreePort = "127.0.0.1:0"
        let process = try ChildProcess(
            "\(FleetBenchmark.programsDirectory)/flotilla",
            arguments: [
                "up", "--data", directory, "--broker-listen", anyFreePort, "--admin-listen", anyFreePort,
                "--gateway-listen", anyFreePort, "--log-format", "text",
            ])
        try await process.waitForOutput(containing: "sender: lanes assigned")
        try await Task.sleep(for: .seconds(settleSeconds))
        let before = processorSeconds(of: process.processID)
        try await Task.sleep(for: .seconds(seconds))
        let percent = 100 * (processorSeconds(of: process.processID) - before) / seconds
        let resident = residentMemoryMiB(of: process.processID)
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
        print(
            "idle: \(resident) MiB resident, wanted under \(residentMiBWanted); "
                + String(format: "%.1f", percent) + " % of a core over \(Int(seconds)) s, wanted under "
                + String(format: "%.0f", processorPercentWanted))
        guard resident < residentMiBWanted, percent < processorPercentWanted else {
            throw BenchmarkFailure("an idle installation costs too much")
        }
    }
}
