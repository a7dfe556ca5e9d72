internal import Glibc
package import ProcessTesting
internal import Telemetry

/// A process of the fleet. It can be killed, frozen and stopped, and restarts with its state and address.
package final class FleetMember {
    package let stage: FleetPlan.Stage
    package let number: Int
    package private(set) var process: ChildProcess
    package private(set) var isFrozen = false
    /// Whether it was stopped for good.
    package private(set) var isRetired = false
    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    package let clock: SettableClock?
    /// The output of its earlier runs.
    private var earlierLogs: [String] = []

    init(
        stage: FleetPlan.Stage, number: Int, program: String, arguments: [String],
        clock: SettableClock?
    ) throws {
        self.stage = stage
        self.number = number
        self.program = program
        self.arguments = arguments
        self.clock = clock
        environment = clock?.environment ?? [:]
        process = try ChildProcess(program, arguments: arguments, environment: environment)
    }

    /// For example `sender 2`.
    package var name: String { "\(stage.rawValue) \(number)" }
    package var logs: [String] { earlierLogs + [process.output + process.errors] }

    package func kill() async throws {
        process.send(signal: SIGKILL)
        try await startAgain()
    }

    /// - Parameter meanwhile: Called while the process does not run.
    package func restart(meanwhile: () async throws -> Void = {}) async throws {
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
        try await meanwhile()
        try await startAgain()
    }

    package func retire() async throws {
        isRetired = true
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
    }

    package func freeze() {
        isFrozen = true
        process.send(signal: SIGSTOP)
    }

    package func resume() {
        isFrozen = false
        process.send(signal: SIGCONT)
    }

    /// Restarts the process if it exited, as a supervisor does.
    package func restartIfExited() async throws {
        if !isRetired, !process.isRunning { try await startAgain() }
    }

    /// Returns the offset that each view has applied, by `view/partition`.
    func appliedOffsets() async throws -> [String: Int64] {
        guard let address = process.errors.firstMatch(of: #/admin: serving address=(\S+)/#) else {
            return [:]
        }
        let metrics = try ChildProcess("curl", arguments: ["-s", "http://\(address.1)/metrics"])
        _ = try await metrics.exitStatus()
        return metrics.output.matches(
            of: #/_applied_offset\{view="([a-z]+)",partition="(\d+)"\} ([\d.e+]+)/#
        ).reduce(into: [:]) { $0["\($1.1)/\($1.2)"] = Double($1.3).map { Int64($0) } }
    }

    /// Starts the process again after its end.
    func startAgain() async throws {
        _ = try await process.exitStatus()
        earlierLogs.append(process.output + process.errors)
        process = try ChildProcess(program, arguments: arguments, environment: environment)
    }
}
