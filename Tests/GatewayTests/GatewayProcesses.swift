import Foundation
import Kafka
import KafkaTesting
import ProcessTesting
import Testing

@testable import Gateway

/// Gateways as real processes on a cluster, with an app and a key. The initializer sets the cluster up with the
/// operator's commands. Then `start` starts one gateway after another.
struct GatewayProcesses: Sendable {
    private static let lanes = 4

    let brokers: [String]
    /// The prefix of the topics' names.
    let prefix = "kills\(UInt64.random(in: 0 ... .max))."
    /// The text of the key.
    let key: String
    private let directory: TemporaryDirectory
    private let cluster: TestCluster
    /// The options of every command and process.
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
        func output(ofCommand arguments: [String]) async throws -> String {
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"), arguments: arguments + options)
            #expect(try await process.exitStatus() == 0, "\(process.errors)")
            return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        _ = try await output(ofCommand: [
            "topics", "create", "--replication", "1", "--lanes", String(Self.lanes),
        ])
        _ = try await output(ofCommand: [
            "apps", "create", "shop", "--bundle-id", "c", "--team-id", "ABCDE12345", "--key-id", "KEY1234567",
        ])
        for type in types { _ = try await output(ofCommand: ["types", "put", "shop", type, "{}"]) }
        key = try await output(ofCommand: ["keys", "create", "shop", "--role", role])
    }

    /// Starts a gateway and returns it with its port when it is ready.
    func start() async throws -> (process: ChildProcess, port: Int) {
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "run", "gateway", "--gateway-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--topics-lanes", String(Self.lanes), "--log-format", "text", "--data",
                directory.filePath(named: "run"),
            ] + options)
        try await process.waitForOutput(containing: "gateway: serving")
        // The line ends with `address=127.0.0.1:PORT`.
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
                "run", "fan-out", "--admin-listen", "127.0.0.1:0", "--topics-lanes", String(Self.lanes),
                "--log-format", "text", "--data", directory.filePath(named: "run"),
            ] + options)
    }

    /// Waits until a topic with a partition for each lane has at least `count` records, and returns all of them.
    func records(of topic: String, atLeast count: Int) async throws -> [StoredRecord] {
        let (brokers, prefix) = (brokers, prefix)
        return try await onThread {
            try StoredRecord.readAll(
                of: prefix + topic, lanes: Self.lanes, atLeast: count, on: KafkaSettings(brokers: brokers))
        }
    }
}
