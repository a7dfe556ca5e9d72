internal import Glibc
internal import ProcessTesting

/// A program of Flotilla at a fixed address, which is killed and started there again.
package final class RevivedProcess {
    private let program: String
    private let arguments: [String]
    private var process: ChildProcess
    package let port: Int
    package var identifier: Int32 { process.identifier }
    /// Its output since the last start.
    package var logs: String { process.output + process.errors }

    /// - Parameter arguments: each `PORT` in them is replaced by the port.
    package init(_ program: String, _ arguments: [String]) async throws {
        port = try freePort()
        self.program = program
        let port = port
        self.arguments = arguments.map { $0.replacing("PORT", with: String(port)) }
        process = try ChildProcess(program, self.arguments)
        try await listens()
    }

    private func listens() async throws {
        try await eventually("port \(port) of \(program) is served") {
            guard process.isRunning else { throw Ended(program: program, said: logs) }
            return isServed(port)
        }
    }

    private struct Ended: Error, CustomStringConvertible {
        let program: String
        let said: String
        var description: String { "\(program) has ended: \(said)" }
    }

    package func kill() async throws {
        process.send(signal: SIGKILL)
        _ = try await process.exitStatus()
    }

    package func start() async throws {
        process = try ChildProcess(program, arguments)
        try await listens()
    }
}
