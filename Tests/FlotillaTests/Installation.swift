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
        try await process.waitForOutput(containing: "broker: serving")
        broker = try process.servingAddress(of: "broker")
        try await process.waitForOutput(containing: "gateway: serving")
        gateway = try process.servingAddress(of: "gateway")
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

    /// Creates the app `shop`.
    func createShop() async throws {
        let created = try await flotilla(
            "apps", "create", "shop", "--bundle-id", "com.example.shop", "--team-id", "ABCDE12345",
            "--key-id", "KEY1234567")
        #expect(created.status == 0, "\(created.errors)")
    }
}
