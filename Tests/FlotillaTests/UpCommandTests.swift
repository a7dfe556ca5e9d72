import Foundation
import ProcessTesting
import Testing

/// `flotilla up`, with the results that the first screen of the README promises, and `flotilla lag` and `replay offset`
/// on its broker.
struct UpCommandTests {
    /// Starts `flotilla up` on free ports.
    private func up(_ data: String, _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "up", "--data", data, "--broker-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--gateway-listen", "127.0.0.1:0", "--apns-simulator-port", "0",
                "--apns-simulator-sandbox-port", "0", "--apns-simulator-channels-port", "0",
                "--apns-simulator-sandbox-channels-port", "0", "--apns-simulator-control-listen",
                "127.0.0.1:0", "--log-format", "text",
            ] + arguments)
    }

    private func run(_ executable: String, _ arguments: String...) async throws -> Answer {
        let process = try ChildProcess(executable, arguments: arguments)
        return Answer(status: try await process.exitStatus(), output: process.output, errors: process.errors)
    }

    @Test func `the demonstration reaches every phone that can be started, also after a restart`()
        async throws
    {
        let directory = try TemporaryDirectory()
        for _ in 1...2 {
            let process = try up(directory.path, "--demo")
            try await process.waitForOutput(containing: "what the phones show:")
            let screens =
                #/(\d+) of them run.*started +(\d+) activities.*updated +all to 1:0.*show (\d+) × {"home":1,"away":0,"minute":23,"phase":"1st half"}\n/#
                .dotMatchesNewlines()
            // The phones that can be started, those that were started, and those that show the update.
            let counts = try #require(process.output.firstMatch(of: screens), "\(process.output)")
            #expect(
                Int(counts.1).map { $0 > 900 } == true, "nearly all phones run an iOS that can be started")
            #expect(counts.2 == counts.1 && counts.3 == counts.1, "\(process.output)")

            // The four lines that the reader of the output pastes.
            let lines = process.output.split(separator: "\n").drop { !$0.hasPrefix("KEY=") }.prefix(4)
            let pasted = try await run(
                "bash", "-euc", lines.joined(separator: "\n").replacing("curl -s", with: "curl -sf"))
            #expect(pasted.status == 0, "\(pasted)")
            #expect(pasted.output.contains(#""installation":"phone-0""#), "\(pasted.output)")
            let group = try #require(process.output.firstMatch(of: #/"groupId":"(my-match-\d+)"/#)?.1)
            try await process.waitForOutput(
                containing:
                    #"\#(group): the lock screens show \#(counts.1) × {"home":1,"away":0,"minute":23,"phase":"1st half"}"#
            )

            let admin = try process.servingAddress(of: "admin")
            try await checkDashboard(against: run("curl", "-sS", "http://\(admin)/metrics").output)
            let second = try up(directory.path, "--demo")
            #expect(
                try await second.exitStatus() == ExitCode.temporary
                    && second.errors.contains("is used by process"))
            let down = try await flotilla("down", "--data", directory.path)
            #expect(down.status == 0 && down.output.contains("has stopped"), "\(down)")
            #expect(try await process.exitStatus() == 0)
        }
        let secondStop = try await flotilla("down", "--data", directory.path)
        #expect(secondStop.status == 0 && secondStop.output.contains("nothing runs in"), "\(secondStop)")
    }

    /// Checks that each metric of the dashboard has the label that its query groups by. `DocumentationTests`
    /// checks that the metrics exist at all, because a metric without an event yet is not in this output.
    private func checkDashboard(against metrics: String) throws {
        let dashboard = try Repository.text(of: "deploy/compose/grafana/dashboards/flotilla.json")
        let queries = dashboard.matches(of: /"expr": "([^"]+)"/)
        var checkedCount = 0
        for query in queries.map(\.1) {
            let metric = try #require(query.firstMatch(of: /flotilla_[a-z_]+/)?.output)
            let lines = metrics.split(separator: "\n").filter { line in
                line.hasPrefix(metric + "{") || line.hasPrefix(metric + " ")
            }
            if lines.isEmpty { continue }
            checkedCount += 1
            let label = query.firstMatch(of: /by \((?:le, )?([a-z]+)\)/)?.1 ?? "le"
            // The labels that Prometheus adds, and the bucket label.
            if ["le", "service", "instance"].contains(label) { continue }
            #expect(lines.contains { $0.contains("\(label)=\"") }, "\(query)")
        }
        #expect(checkedCount >= 12, "\(checkedCount) of \(queries.count)")
    }

    @Test func `a demonstration that misses its goal reports the counts and exits with an error`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let script = try directory.writeFile(
            named: "script.json",
            content:
                #"{"rules":[{"match":{"events":["update"],"times":3},"answer":{"reason":"BadPriority"}}]}"#)
        let process = try up(directory.filePath(named: "data"), "--demo", "--apns-simulator-script", script)
        #expect(try await process.exitStatus() == ExitCode.unavailable)
        let summary = #/of (\d+) phones that can be started, (\d+) showed the start and (\d+) the update/#
        let counts = try #require(process.errors.firstMatch(of: summary), "\(process.errors)")
        #expect(counts.1 == counts.2 && Int(counts.3) == Int(counts.1).map { $0 - 3 })
        let kickOff = #"3 × {"home":0,"away":0,"minute":1,"phase":"1st half"}"#
        #expect(process.errors.contains(kickOff), "\(process.errors)")
        #expect(!process.output.contains("Flotilla is up"))
    }

    @Test func `a first start logs at most 14 lines`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path)
        try await process.waitForOutput(containing: "insight: lanes assigned")
        try await process.waitForOutput(containing: "sender: lanes assigned")
        #expect(process.errors.split(separator: "\n").count <= 14, "\(process.errors)")
    }

    @Test func `up serves health checks and metrics`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path)
        try await process.waitForOutput(containing: "broker: serving")
        let admin = try process.servingAddress(of: "admin")
        #expect(try await run("curl", "-sS", "http://\(admin)/livez").output == "alive\n")
        try await eventually("readiness") {
            try await run("curl", "-sS", "http://\(admin)/readyz").output == "ready\n"
        }
        let metrics = try await run("curl", "-sS", "http://\(admin)/metrics").output
        #expect(metrics.contains("flotilla_build_info{version="))
        #expect(metrics.contains("flotilla_broker_"))
    }

    @Test func `lag shows how far a group is behind`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path)
        try await process.waitForOutput(containing: "ingest: partitions assigned")
        let broker = try process.servingAddress(of: "broker")
        // kcat commits its offset when it exits. After that five more records are written.
        let topic = "flotilla.events"
        let first = try ChildProcess(
            "kcat", arguments: ["-b", broker, "-P", "-t", topic, "-p", "0"], input: Data("0\n".utf8))
        #expect(try await first.exitStatus() == 0)
        let reader = try await run(
            "kcat", "-b", broker, "-G", "readers", "-e", "-q", "-X", "auto.offset.reset=earliest", topic)
        #expect(reader.status == 0, "\(reader.errors)")
        let caughtUp = try await flotilla("lag", "readers", "--json", "--kafka-brokers", broker).output
        #expect(
            caughtUp.contains(#""topic":"flotilla.events","partition":0,"#)
                && caughtUp.contains(#""lag":0}"#), "\(caughtUp)")
        let writer = try ChildProcess(
            "kcat", arguments: ["-b", broker, "-P", "-t", topic, "-p", "0"],
            input: Data("1\n2\n3\n4\n5\n".utf8))
        #expect(try await writer.exitStatus() == 0)
        let table = try await flotilla("lag", "--kafka-brokers", broker)
        #expect(table.output.hasPrefix("group "), "\(table)")
        #expect(table.output.split(separator: "\n").contains { $0.hasSuffix(" 5") }, "\(table)")
        #expect(try await flotilla("lag", "nobody", "--kafka-brokers", broker).status == ExitCode.usage)
    }

    @Test func `an offset is set for the named group if several groups read the topic`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(directory.path)
        try await process.waitForOutput(containing: "ingest: partitions assigned")
        let broker = try process.servingAddress(of: "broker")
        let topic = "flotilla.audit"
        let writer = try ChildProcess(
            "kcat", arguments: ["-b", broker, "-P", "-t", topic, "-p", "0"], input: Data("0\n".utf8))
        #expect(try await writer.exitStatus() == 0)
        for group in ["flotilla.first", "flotilla.second"] {
            let reader = try await run(
                "kcat", "-b", broker, "-G", group, "-e", "-q", "-X", "auto.offset.reset=earliest", topic)
            #expect(reader.status == 0, "\(reader.errors)")
        }
        func reset(_ arguments: String...) async throws -> Answer {
            try await flotilla(
                [
                    "replay", "offset", "--topic", "audit", "--partition", "0", "--to", "beginning",
                    "--dry-run", "--kafka-brokers", broker,
                ] + arguments)
        }
        let unnamed = try await reset()
        #expect(
            unnamed.status == ExitCode.usage && unnamed.errors.contains("name one with --group"), "\(unnamed)"
        )
        #expect(unnamed.errors.contains("flotilla.first, ") && unnamed.errors.contains("flotilla.second"))
        let named = try await reset("--group", "flotilla.second")
        #expect(named.status == 0 && named.output.contains("group      flotilla.second"), "\(named)")
        let unknown = try await reset("--group", "flotilla.third")
        #expect(
            unknown.status == ExitCode.usage && unknown.errors.contains("group flotilla.third has no offset"),
            "\(unknown)")
    }

    @Test func `a port in use gives one sentence and the status for an unavailable service`() async throws {
        let directory = try TemporaryDirectory()
        let first = try up(directory.filePath(named: "a"))
        try await first.waitForOutput(containing: "broker: serving")
        let usedAddress = try first.servingAddress(of: "broker")
        let second = try await flotilla(
            "up", "--data", directory.filePath(named: "b"), "--broker-listen", usedAddress, "--admin-listen",
            "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0")
        #expect(second.status == ExitCode.unavailable)
        #expect(
            second.errors.contains("cannot listen on \(usedAddress): address already in use"),
            "\(second.errors)")
    }

    @Test func `a missing broker gives one sentence and the same status`() async throws {
        let answer = try await flotilla("lag", "--kafka-brokers", "127.0.0.1:1")
        #expect(answer.status == ExitCode.unavailable)
        #expect(answer.errors.split(separator: "\n").count == 1)
        #expect(answer.errors.contains("kafka.brokers"), "\(answer.errors)")
    }

    @Test func `a command that waits for a cluster ends at once on SIGTERM`() async throws {
        let lag = try ChildProcess(
            builtProductPath(named: "flotilla"), arguments: ["lag", "--kafka-brokers", "127.0.0.1:1"])
        lag.send(signal: SIGTERM)
        #expect(try await lag.exitStatus() == -SIGTERM)
    }

    @Test func `forbidden properties in kafka.properties are reported without their values`() async throws {
        let answer = try await flotilla(
            "lag", "--kafka-properties", "debug=broker,topic;ssl.keystore.password=hunter2;linger.ms=9;acks=0"
        )
        #expect(answer.status == ExitCode.configuration)
        #expect(answer.errors.split(separator: "\n").count == 3, "\(answer.errors)")
        #expect(!answer.errors.contains("hunter2"))
    }

    @Test func `wrong security settings of Kafka are reported before a connection is made`() async throws {
        let answer = try await flotilla(
            "lag", "--kafka-security-protocol", "scram-tls", "--kafka-ca-file", "/nonexistent/ca.pem")
        #expect(answer.status == ExitCode.configuration)
        #expect(answer.errors.contains("/nonexistent/ca.pem"), "\(answer.errors)")
    }
}
