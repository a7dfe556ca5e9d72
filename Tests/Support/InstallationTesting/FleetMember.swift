internal import Glibc
package import ProcessTesting
internal import Telemetry

/// A process of one stage in a fleet. A test can kill, freeze, stop and restart it. After a restart it has the same
/// files and the same address.
package final class FleetMember {
    package let stage: FleetPlan.Stage
    /// The number among the processes of the stage, from 0.
    package let number: Int
    package private(set) var process: ChildProcess
    package private(set) var isFrozen = false
    /// Whether it was stopped for good.
    package private(set) var isRetired = false
    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    /// The clock of the process, or nil if it has the machine's.
    package let clock: SettableClock?
    /// The output of each earlier run.
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

    /// The name in messages, for example `sender 2`.
    package var name: String { "\(stage.rawValue) \(number)" }
    /// The output of each run.
    package var logs: [String] { earlierLogs + [process.output + process.errors] }

    /// Kills the process and starts it again.
    package func killAndRestart() async throws {
        process.send(signal: SIGKILL)
        try await startAgain()
    }

    /// Stops the process with SIGTERM and starts it again.
    ///
    /// - Parameter meanwhile: Called while the process does not run.
    package func restart(meanwhile: () async throws -> Void = {}) async throws {
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
        try await meanwhile()
        try await startAgain()
    }

    /// Stops the process with SIGTERM, for good.
    package func retire() async throws {
        isRetired = true
        process.send(signal: SIGTERM)
        _ = try await process.exitStatus()
    }

    /// Stops the process with SIGSTOP until `resume`, as if its machine slept.
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

    /// Returns the offset that each view has applied, by `VIEW/PARTITION` such as `groups/3`, from the process's
    /// metrics. Returns nothing while the process does not serve metrics.
    func appliedOffsets() async throws -> [String: Int64] {
        guard let (_, address) = process.errors.firstMatch(of: #/admin: serving address=(\S+)/#)?.output
        else {
            return [:]
        }
        let metrics = try ChildProcess("curl", arguments: ["-s", "http://\(address)/metrics"])
        _ = try await metrics.exitStatus()
        let lines = metrics.output.matches(
            of: #/_applied_offset\{view="([a-z]+)",partition="(\d+)"\} ([\d.e+]+)/#)
        return lines.reduce(into: [:]) { offsets, line in
            let (_, view, partition, offset) = line.output
            offsets["\(view)/\(partition)"] = Double(offset).map { Int64($0) }
        }
    }

    /// Waits for the end of the process and starts it again.
    func startAgain() async throws {
        _ = try await process.exitStatus()
        earlierLogs.append(process.output + process.errors)
        process = try ChildProcess(program, arguments: arguments, environment: environment)
    }
}
