import Foundation
import ProcessTesting
import Testing

/// The path from a report by hand to the commands that show a phone.
struct IngestCommandTests {
    @Test func `a report becomes a row that user and installation show, without its token`() async throws {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "up", "--data", directory.path, "--broker-listen", "127.0.0.1:0", "--admin-listen",
                "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--topics-lanes", "2", "--log-format",
                "text",
            ])
        try await process.waitForOutput(containing: "broker: serving")
        try await process.waitForOutput(containing: "ingest: partitions assigned")
        let line = try #require(
            process.errors.split(separator: "\n").first { $0.contains(" broker: serving") })
        let address = String(
            try #require(line.split(separator: " ").first { $0.hasPrefix("address=") }).dropFirst(
                "address=".count))
        let added = try await flotilla(
            "apps", "create", "shop", "--bundle-id", "com.example.shop", "--team-id", "ABCDE12345",
            "--key-id",
            "KEY1234567", "--kafka-brokers", address)
        #expect(added.status == 0, "\(added)")
        let token = String(repeating: "ab", count: 32)
        let report =
            #"{"v":1,"app":"shop","environment":"production","installationId":"phone-1","userId":"jane","kind":"startToken","attributesType":"Match","token":"\#(token)"}"#
        let sent = try ChildProcess(
            "kcat",
            arguments: [
                "-b", address, "-P", "-t", "flotilla.reports", "-k", "shop/i:phone-1", "-X",
                "topic.partitioner=murmur2_random",
            ],
            input: Data(report.utf8))
        #expect(try await sent.exitStatus() == 0, "\(sent.errors)")
        /// Runs a command that shows a user or an installation.
        func ask(_ command: String, _ id: String, _ flags: String...) async throws -> Answer {
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"),
                arguments: [command, id, "--app", "shop", "--topics-lanes", "2", "--kafka-brokers", address]
                    + flags)
            let status = try await process.exitStatus()
            return Answer(status: status, output: process.output, errors: process.errors)
        }
        try await eventually("the row") { try await ask("user", "jane").output.contains("start:Match") }
        let shown = try await ask("installation", "phone-1")
        #expect(shown.output.contains("recipient u:jane of app shop"), "\(shown)")
        #expect(shown.output.contains("tok:") && !shown.output.contains(token))
        // The output for programs has only the fields that the record has.
        let json = try await ask("user", "jane", "--json").output
        let start = try #require(json.split(separator: "\n").first { $0.contains("start:Match") })
        let object = try JSONSerialization.jsonObject(with: Data(start.utf8))
        let row = try #require(object as? [String: Any])
        #expect(row["installation"] as? String == "phone-1" && row["registeredAt"] is Int)
        #expect(row["groupId"] == nil && row["expiresAt"] == nil && !json.contains("–"))
        #expect(try await ask("user", "nobody", "--json").output == "")
        let stranger = try await ask("user", "stranger")
        #expect(
            stranger.status == ExitCode.noInput && stranger.errors.contains("no token reaches user stranger"))
        #expect(try await ask("installation", "phone-2").status == ExitCode.noInput)
        let unregistered = try await flotilla(
            "report", "--app", "shop", "--installation-id", "phone-1", "--kind", "unregister",
            "--attributes-type", "Match", "--kafka-brokers", address)
        #expect(unregistered.status == 0, "\(unregistered.errors)")
        try await eventually("the reason") {
            try await ask("installation", "phone-1").output.contains(
                "start:Match is not reached: the app has unregistered the type")
        }
    }
}
