import Foundation
import ProcessTesting
import Testing

/// `flotilla up` on free ports, ready for reports and sends, and the operator's commands against it.
struct Installation {
    let process: ChildProcess
    /// The addresses of the broker and the gateway.
    let broker: String
    let gateway: String

    /// - Parameter data: The directory for the installation's files.
    init(_ data: String, environment: [String: String] = [:]) async throws {
        process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "up", "--data", data, "--broker-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--gateway-listen", "127.0.0.1:0", "--log-format", "text",
            ], environment: environment)
        broker = try await Self.address(of: "broker", in: process)
        gateway = try await Self.address(of: "gateway", in: process)
        let gateway = gateway
        try await eventually("readiness") {
            let curl = try ChildProcess("curl", arguments: ["-s", "http://\(gateway)/readyz"])
            _ = try await curl.exitStatus()
            return curl.output == "ready\n"
        }
    }

    /// Runs a command of the binary on this installation's cluster.
    func flotilla(_ arguments: String...) async throws -> Answer { try await flotilla(arguments) }

    func flotilla(_ arguments: [String]) async throws -> Answer {
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"), arguments: arguments + ["--kafka-brokers", broker])
        return Answer(status: try await process.exitStatus(), output: process.output, errors: process.errors)
    }

    /// Waits until a service serves, and returns the address in its log line.
    private static func address(of service: String, in process: ChildProcess) async throws -> String {
        try await process.waitForOutput(containing: "\(service): serving")
        let line = process.errors.split(separator: "\n").first { $0.contains(" \(service): serving") }
        let field = line?.split(separator: " ").first { $0.hasPrefix("address=") }
        return try #require(field.map { String($0.dropFirst("address=".count)) })
    }
}
