import Foundation
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Simulation
import Testing

@testable import Gateway

/// Real processes: gateways that are killed while clients send.
struct KillTests {
    private func flotilla(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(builtProduct("flotilla"), arguments)
    }

    private func output(_ arguments: [String]) async throws -> String {
        let process = try ChildProcess(builtProduct("flotilla"), arguments)
        #expect(try await process.exitStatus() == 0, "\(process.errors)")
        return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func address(of service: String, in process: ChildProcess) async throws -> String {
        try await process.waitFor("\(service): serving")
        let line = process.errors.split(separator: "\n").first { $0.contains("\(service): serving") }
        let field = line?.split(separator: " ").first { $0.hasPrefix("address=") }
        return try #require(field.map { String($0.dropFirst("address=".count)) })
    }

    /// Sends bodies of three reports with ids that nobody else uses, until the server is gone. Returns
    /// the ids that were answered 202.
    private static func send(
        port: Int, key: String, name: String, counting acknowledged: TracedLock<Int>
    ) -> [String] {
        guard let peer = try? HTTPPeer(port: port) else { return [] }
        var stored: [String] = []
        for round in 0... {
            let ids = (0..<3).map { "\(name)-\(round)-\($0)" }
            let reports = ids.map { heartbeat(#","reportId":"\#($0)""#, installation: $0) }
            let body = Array("[\(reports.joined(separator: ","))]".utf8)
            guard
                let answer = try? peer.exchange(
                    "POST", "/v1/reports", ["Authorization: Bearer \(key)"], body)
            else { return stored }
            if answer.status == 202 {
                stored += ids
                acknowledged.withLock { $0 += 1 }
            }
        }
        return stored
    }

    @Test(.timeLimit(.minutes(5)))
    func `every report that a killed gateway acknowledged is in the topic`() async throws {
        let directory = try TemporaryDirectory()
        let cluster = try TestCluster()
        let brokers = cluster.brokers.joined(separator: ",")
        let prefix = "kills\(UInt64.random(in: 0 ... .max))."
        let place = ["--kafka-brokers", brokers, "--topics-prefix", prefix]
        _ = try await output(["topics", "create", "--replication", "1", "--lanes", "4"] + place)
        _ = try await output(
            [
                "apps", "create", "shop", "--bundle-id", "c", "--team-id", "ABCDE12345", "--key-id",
                "KEY1234567",
            ]
                + place)
        let key = try await output(["keys", "create", "shop", "--role", "report"] + place)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed)
        var stored: [String] = []
        for life in 0..<trials(4) {
            let gateway = try flotilla(
                [
                    "run", "gateway", "--gateway-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                    "--topics-lanes", "4", "--log-format", "text", "--data", directory.file("run"),
                ] + place)
            let listening = try await address(of: "gateway", in: gateway)
            let port = try #require(Int(listening.split(separator: ":").last ?? ""))
            try await eventually("readiness") {
                try await onThread {
                    try HTTPPeer(port: port).exchange("GET", "/readyz", [], []).status == 200
                }
            }
            let acknowledged = TracedLock(0)
            let wanted = random.below(300)
            stored += try await withThrowingTaskGroup(of: [String].self) { group in
                for client in 0..<8 {
                    group.addTask {
                        try await onThread {
                            Self.send(port: port, key: key, name: "\(life)-\(client)", counting: acknowledged)
                        }
                    }
                }
                try await eventually("\(wanted) acknowledgements") { acknowledged.withLock { $0 } >= wanted }
                gateway.send(signal: SIGKILL)
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        let expected = stored.count
        #expect(expected > 0)
        let found = try await onThread {
            try StoredReport.all(
                KafkaSettings(brokers: cluster.brokers), prefix + "reports", lanes: 4, expected)
        }
        let missing = Set(stored.map { "shop/i:\($0)" }).subtracting(found.map(\.key))
        #expect(
            missing.isEmpty, "seed \(seed): \(missing.count) of \(expected) acknowledged reports are lost")
    }
}
