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

    static func run(_ arguments: [String]) throws {
        guard arguments.isEmpty || arguments.count == 2 && arguments[0] == "--seconds",
            let seconds = arguments.last.map({ Double($0) }) ?? 60, seconds >= 1
        else { throw BenchmarkFailure("idle knows --seconds N") }
        let directory = try BenchmarkDirectory()
        let path = directory.path
        try waiting { try await watch(path, seconds) }
    }

    private static func watch(_ directory: String, _ seconds: Double) async throws {
        let nowhere = "127.0.0.1:0"
        let up = try ChildProcess(
            "\(FleetBenchmark.programs)/flotilla",
            [
                "up", "--data", directory, "--broker-listen", nowhere, "--admin-listen", nowhere,
                "--gateway-listen", nowhere, "--log-format", "text",
            ])
        try await up.waitFor("sender: lanes assigned")
        try await Task.sleep(for: .seconds(settleSeconds))
        let before = processorSeconds(of: up.identifier)
        try await Task.sleep(for: .seconds(seconds))
        let percent = 100 * (processorSeconds(of: up.identifier) - before) / seconds
        let resident = residentMiB(of: up.identifier)
        up.send(signal: SIGTERM)
        _ = try await up.exitStatus()
        print(
            "idle: \(resident) MiB resident, wanted under \(residentMiBWanted); "
                + String(format: "%.1f", percent) + " % of a core over \(Int(seconds)) s, wanted under "
                + String(format: "%.0f", processorPercentWanted))
        guard resident < residentMiBWanted, percent < processorPercentWanted else {
            throw BenchmarkFailure("an idle installation costs too much")
        }
    }
}
