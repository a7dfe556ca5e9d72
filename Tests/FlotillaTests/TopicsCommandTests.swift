import ProcessTesting
import Testing

/// `flotilla topics` against a new broker.
struct TopicsCommandTests {
    @Test func `check reports missing topics, create makes them, and then the check passes`() async throws {
        let directory = try TemporaryDirectory()
        let broker = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "broker", "--log-format", "text", "--admin-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0",
                "--data", directory.filePath(named: "data"),
            ])
        try await broker.waitForOutput(containing: "broker: serving")
        let address = try broker.servingAddress(of: "broker")
        let missing = try await flotilla("topics", "--kafka-brokers", address)
        #expect(missing.status == ExitCode.configuration)
        #expect(missing.errors.contains("topic flotilla.reports is missing"), "\(missing.errors)")
        let alone = try await flotilla("topics", "create", "--kafka-brokers", address)
        #expect(alone.status == ExitCode.configuration)
        #expect(alone.errors.contains("topics.replication"), "\(alone.errors)")
        let made = try await flotilla(
            "topics", "create", "--lanes", "3", "--replication", "1", "--kafka-brokers", address)
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains("flotilla.dead-letters"))
        let json = try await flotilla("topics", "check", "--lanes", "3", "--json", "--kafka-brokers", address)
        #expect(json.status == 0)
        #expect(
            json.output.contains(
                #"{"topic":"flotilla.reports","partitions":3,"state":"fits","mismatches":[]}"#))
        let other = try await flotilla("topics", "check", "--lanes", "4", "--kafka-brokers", address)
        #expect(other.status == ExitCode.configuration)
        #expect(
            other.errors.contains("topic flotilla.reports has 3 partitions, 4 are needed"), "\(other.errors)")
    }
}
