import Foundation
import Kafka
import KafkaTesting
import ProcessTesting
import Testing

@testable import Gateway

/// Gateways as real processes on a cluster, with an app and a key.
struct GatewayProcesses: Sendable {
    let brokers: [String]
    let prefix = "kills\(UInt64.random(in: 0 ... .max))."
    /// The text of the key.
    let key: String
    private let directory: TemporaryDirectory
    private let cluster: TestCluster
    private let options: [String]

    /// - Parameters:
    ///   - role: The role of the key.
    ///   - types: The names of the app's activity types.
    init(role: String, types: [String] = []) async throws {
        directory = try TemporaryDirectory()
        cluster = try TestCluster()
        brokers = cluster.brokers
        let options = ["--kafka-brokers", brokers.joined(separator: ","), "--topics-prefix", prefix]
        self.options = options
        func output(_ arguments: [String]) async throws -> String {
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"), arguments: arguments + options)
            #expect(try await process.exitStatus() == 0, "\(process.errors)")
            return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        _ = try await output(["topics", "create", "--replication", "1", "--lanes", "4"])
        _ = try await output([
            "apps", "create", "shop", "--bundle-id", "c", "--team-id", "ABCDE12345", "--key-id", "KEY1234567",
        ])
        for type in types { _ = try await output(["types", "put", "shop", type, "{}"]) }
        key = try await output(["keys", "create", "shop", "--role", role])
    }

    /// Starts a gateway and returns it with its port when it is ready.
    func start() async throws -> (process: ChildProcess, port: Int) {
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "run", "gateway", "--gateway-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--topics-lanes", "4", "--log-format", "text", "--data", directory.filePath(named: "run"),
            ] + options)
        try await process.waitForOutput(containing: "gateway: serving")
        let line = process.errors.split(separator: "\n").first { $0.contains("gateway: serving") }
        let field = try #require(line?.split(separator: " ").first { $0.hasPrefix("address=") })
        let port = try #require(Int(field.split(separator: ":").last ?? ""))
        try await eventually("readiness") {
            try await onThread {
                try HTTPPeer(port: port).exchange("GET", "/readyz", headers: [], body: []).status == 200
            }
        }
        return (process, port)
    }

    /// Starts planner and expander.
    func startFanOut() throws -> ChildProcess {
        try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "run", "fan-out", "--admin-listen", "127.0.0.1:0", "--topics-lanes", "4", "--log-format",
                "text",
                "--data", directory.filePath(named: "run"),
            ] + options)
    }

    /// Waits until a topic with four partitions has at least `count` records, and returns all of them.
    func records(of topic: String, atLeast count: Int) async throws -> [StoredRecord] {
        let (brokers, prefix) = (brokers, prefix)
        return try await onThread {
            try StoredRecord.readAll(
                of: prefix + topic, lanes: 4, atLeast: count, on: KafkaSettings(brokers: brokers))
        }
    }
}
