import Foundation
import ProcessTesting
import Testing

/// `flotilla up`, as the first screen of the README promises it.
struct UpCommandTests {
    private func up(_ data: String, _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            builtProduct("flotilla"),
            [
                "up", "--data", data, "--broker-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--gateway-listen", "127.0.0.1:0",
                "--log-format", "text",
            ]
                + arguments)
    }

    /// The address that a service said it serves at.
    private func address(of service: String, in process: ChildProcess) throws -> String {
        let line = process.errors.split(separator: "\n").first { $0.contains(" \(service): serving") }
        let field = line?.split(separator: " ").first { $0.hasPrefix("address=") }
        return try #require(field.map { String($0.dropFirst("address=".count)) })
    }

    private func run(_ executable: String, _ arguments: String...) async throws -> Answer {
        let process = try ChildProcess(executable, arguments)
        return Answer(status: try await process.exitStatus(), output: process.output, errors: process.errors)
    }

    @Test func `the demonstration shows what works, and what it wrote is there after a restart`() async throws
    {
        let directory = try TemporaryDirectory()
        for round in 1...2 {
            let process = try up(directory.path, "--demo")
            try await process.waitFor("Not built yet")
            #expect(process.output.contains("1000 × “match-42 is now 1:0”"))
            #expect(!process.output.contains("9:9"), "a reader of committed records saw an aborted one")
            let broker = try address(of: "broker", in: process)
            let advice = process.output.split(separator: "\n").first { $0.contains("Try it:") } ?? ""
            let words = advice.split(separator: " ").dropFirst(2).map(String.init)
            #expect(words.first == "kcat" && words.contains(broker), "\(advice)")
            let tried = try ChildProcess(words.first ?? "", Array(words.dropFirst()))
            #expect(try await tried.exitStatus() == 0)
            #expect(tried.output.split(separator: "\n") == Array(repeating: "match-42 is now 1:0", count: 3))
            let kcat = try await run(
                "kcat", "-b", broker, "-t", "flotilla.demonstration", "-C", "-e", "-q", "-o", "beginning",
                "-X", "isolation.level=read_committed")
            #expect(kcat.output.split(separator: "\n").count == 1000 * round)
            process.send(signal: SIGTERM)
            #expect(try await process.exitStatus() == 0)
        }
    }

    @Test func `it answers what an operator and an orchestrator ask`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path)
        try await process.waitFor("broker: serving")
        let admin = try address(of: "admin", in: process)
        #expect(try await run("curl", "-sS", "http://\(admin)/livez").output == "alive\n")
        try await eventually("readiness") {
            try await run("curl", "-sS", "http://\(admin)/readyz").output == "ready\n"
        }
        let metrics = try await run("curl", "-sS", "http://\(admin)/metrics").output
        #expect(metrics.contains("flotilla_build_info{version="))
        #expect(metrics.contains("flotilla_broker_"))
    }

    @Test func `lag tells how far behind a group is`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path, "--demo")
        try await process.waitFor("Not built yet")
        let broker = try address(of: "broker", in: process)
        let none = try await flotilla("lag", "--kafka-brokers", broker)
        #expect(none.status == 0)
        #expect(none.output == "no group has committed anything\n")
        // kcat commits what it has read when it leaves; then five more come.
        let topic = "flotilla.demonstration"
        let reader = try await run(
            "kcat", "-b", broker, "-G", "readers", "-e", "-q", "-X", "auto.offset.reset=earliest", topic)
        #expect(reader.status == 0, "\(reader.errors)")
        let caughtUp = try await flotilla("lag", "readers", "--json", "--kafka-brokers", broker).output
        #expect(
            caughtUp.contains(#""topic":"flotilla.demonstration","partition":0,"#)
                && caughtUp.contains(#""lag":0}"#), "\(caughtUp)")
        let writer = try ChildProcess(
            "kcat", ["-b", broker, "-P", "-t", topic], input: Data("1\n2\n3\n4\n5\n".utf8))
        #expect(try await writer.exitStatus() == 0)
        let table = try await flotilla("lag", "--kafka-brokers", broker)
        #expect(table.output.hasPrefix("group "), "\(table)")
        #expect(table.output.split(separator: "\n").last?.hasSuffix(" 5") == true, "\(table)")
        #expect(try await flotilla("lag", "nobody", "--kafka-brokers", broker).status == 64)
    }

    @Test func `a taken port is one sentence and the status of a thing that is not there`() async throws {
        let directory = try TemporaryDirectory()
        let first = try up(directory.file("a"))
        try await first.waitFor("broker: serving")
        let taken = try address(of: "broker", in: first)
        let second = try await flotilla(
            "up", "--data", directory.file("b"), "--broker-listen", taken, "--admin-listen", "127.0.0.1:0",
            "--gateway-listen", "127.0.0.1:0")
        #expect(second.status == 69)
        #expect(
            second.errors.contains("cannot listen on \(taken): address already in use"), "\(second.errors)")
    }

    @Test func `a broker that is not there is one sentence and the same status`() async throws {
        let answer = try await flotilla("lag", "--kafka-brokers", "127.0.0.1:1")
        #expect(answer.status == 69)
        #expect(answer.errors.split(separator: "\n").count == 1)
        #expect(answer.errors.contains("kafka.brokers"), "\(answer.errors)")
    }

    @Test func `a command that waits for a cluster ends at once when it is told to`() async throws {
        let lag = try ChildProcess(builtProduct("flotilla"), ["lag", "--kafka-brokers", "127.0.0.1:1"])
        lag.send(signal: SIGTERM)
        #expect(try await lag.exitStatus() == -SIGTERM)
    }

    @Test func `what may not stand in kafka.properties is told without its value`() async throws {
        let answer = try await flotilla(
            "lag", "--kafka-properties", "debug=broker,topic;ssl.keystore.password=hunter2;linger.ms=9;acks=0"
        )
        #expect(answer.status == 78)
        #expect(answer.errors.split(separator: "\n").count == 3, "\(answer.errors)")
        #expect(!answer.errors.contains("hunter2"))
    }

    @Test func `wrong ways to secure Kafka are told before anything connects`() async throws {
        let answer = try await flotilla(
            "lag", "--kafka-security-protocol", "scram-tls", "--kafka-ca-file", "/nonexistent/ca.pem")
        #expect(answer.status == 78)
        #expect(answer.errors.contains("/nonexistent/ca.pem"), "\(answer.errors)")
    }
}
