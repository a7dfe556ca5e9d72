internal import Glibc
internal import ProcessTesting

/// A program of Flotilla at a fixed address, which is killed and started there again.
package final class RestartableProcess {
    private let program: String
    private let arguments: [String]
    private var process: ChildProcess
    package let port: Int
    package var processID: Int32 { process.processID }
    /// Its output since the last start.
    package var logs: String { process.output + process.errors }

    /// - Parameter arguments: each `PORT` in them is replaced by the port.
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

    package func kill() async throws {
        process.send(signal: SIGKILL)
        _ = try await process.exitStatus()
    }

    package func start() async throws {
        process = try ChildProcess(program, arguments: arguments)
        try await waitUntilListening()
    }
}
