internal import Glibc
internal import ProcessTesting

/// A process of Flotilla on a fixed port. A test can kill it and start it again on the same port.
package final class RestartableProcess {
    private let program: String
    private let arguments: [String]
    private var process: ChildProcess
    package let port: Int
    package var processID: Int32 { process.processID }
    /// The output since the last start.
    package var logs: String { process.output + process.errors }

    /// Starts the process and waits until it listens.
    ///
    /// - Parameter arguments: The arguments, in which each `PORT` is replaced by the port.
    package init(program: String, arguments: [String]) async throws {
        port = try freePort()
        self.program = program
        let port = port
        self.arguments = arguments.map { $0.replacing("PORT", with: String(port)) }
        process = try ChildProcess(program, arguments: self.arguments)
        try await waitUntilListening()
    }

    private func waitUntilListening() async throws {
        try await eventually("port \(port) of \(program) is served") {
            guard process.isRunning else { throw ProcessEnded(program: program, output: logs) }
            return isServed(port: port)
        }
    }

    private struct ProcessEnded: Error, CustomStringConvertible {
        let program: String
        let output: String
        var description: String { "\(program) has ended: \(output)" }
    }

    /// Kills the process and waits for its end.
    package func kill() async throws {
        process.send(signal: SIGKILL)
        _ = try await process.exitStatus()
    }

    /// Starts the process after `kill`, and waits until it listens.
    package func start() async throws {
        process = try ChildProcess(program, arguments: arguments)
        try await waitUntilListening()
    }
}
