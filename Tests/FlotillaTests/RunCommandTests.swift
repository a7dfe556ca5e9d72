import Foundation
import ProcessTesting
import Testing

/// `flotilla run`, and the files that `flotilla up` makes for the stages.
struct RunCommandTests {
    @Test func `run needs the names of stages and lists the known ones`() async throws {
        let none = try await flotilla("run")
        #expect(none.status == ExitCode.usage)
        #expect(none.errors.contains("name a stage to run"))
        let unknown = try await flotilla("run", "injest")
        #expect(unknown.status == ExitCode.usage)
        #expect(unknown.errors.contains("there is no stage injest"))
    }

    @Test func `up creates the topics and a file of sealing keys that only its owner can read`() async throws
    {
        let directory = try TemporaryDirectory()
        let keys = directory.filePath(named: "sealing-keys")
        var texts: [String] = []
        for _ in 1...2 {
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"),
                arguments: [
                    "up", "--data", directory.path, "--broker-listen", "127.0.0.1:0", "--admin-listen",
                    "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--log-format", "text",
                ])
            try await process.waitForOutput(containing: "broker: serving")
            // Only the first start creates topics.
            if texts.isEmpty { try await process.waitForOutput(containing: "topics: created topics") }
            texts.append(try String(contentsOfFile: keys, encoding: .utf8))
            process.send(signal: SIGTERM)
            #expect(try await process.exitStatus() == 0)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: keys)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(texts[0] == texts[1], "the keys are made only once")
    }

    @Test func `a stage whose brokers are gone is not ready, and ready again when they return`() async throws
    {
        let directory = try TemporaryDirectory()
        func startBroker(port: String) async throws -> (ChildProcess, address: String) {
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"),
                arguments: [
                    "broker", "--data", directory.filePath(named: "broker"), "--listen", "127.0.0.1:\(port)",
                    "--admin-listen", "127.0.0.1:0", "--log-format", "text",
                ])
            try await process.waitForOutput(containing: "broker: serving")
            return (process, try process.servingAddress(of: "broker"))
        }
        let (firstBroker, address) = try await startBroker(port: "0")
        let topics = try await flotilla(
            "topics", "create", "--topics-lanes", "1", "--topics-replication", "1", "--kafka-brokers", address
        )
        #expect(topics.status == 0, "\(topics)")
        let stage = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "run", "ingest", "--data", directory.filePath(named: "data"), "--topics-lanes", "1",
                "--topics-replication", "1", "--kafka-brokers", address, "--admin-listen", "127.0.0.1:0",
                "--log-format", "text",
            ])
        try await stage.waitForOutput(containing: "admin: serving")
        let admin = try stage.servingAddress(of: "admin")
        func health() async throws -> Answer { try await flotilla("health-check", "--admin-listen", admin) }
        try await eventually("readiness") { try await health().status == 0 }

        firstBroker.send(signal: SIGKILL)
        try await eventually("the loss of Kafka", seconds: 60) {
            let answer = try await health()
            return answer.status == ExitCode.unavailable
                && answer.errors.contains("kafka: no broker can be reached")
        }
        let port = try #require(address.split(separator: ":").last)
        let (secondBroker, _) = try await startBroker(port: String(port))
        try await eventually("readiness again", seconds: 60) { try await health().status == 0 }
        // A child process is killed with its object, so the broker must live until here.
        withExtendedLifetime(secondBroker) {}
    }
}
