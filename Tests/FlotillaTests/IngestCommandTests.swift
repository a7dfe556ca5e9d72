import Foundation
import ProcessTesting
import Testing

/// The path from a report by hand to the commands that show a phone.
struct IngestCommandTests {
    @Test func `a report becomes a row that user and installation show, without its token`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        try await installation.createShop()
        let token = String(repeating: "ab", count: 32)
        let report =
            #"{"v":1,"app":"shop","environment":"production","installationId":"phone-1","userId":"jane","kind":"startToken","attributesType":"Match","token":"\#(token)"}"#
        let kcat = try ChildProcess(
            "kcat",
            arguments: [
                "-b", installation.broker, "-P", "-t", "flotilla.reports", "-k", "shop/i:phone-1", "-X",
                "topic.partitioner=murmur2_random",
            ],
            input: Data(report.utf8))
        #expect(try await kcat.exitStatus() == 0, "\(kcat.errors)")
        func user(_ id: String, _ flags: String...) async throws -> Answer {
            try await installation.flotilla(["user", id, "--app", "shop"] + flags)
        }
        func phone(_ id: String) async throws -> Answer {
            try await installation.flotilla("installation", id, "--app", "shop")
        }
        try await eventually("the user has a row") { try await user("jane").output.contains("start:Match") }
        let shown = try await phone("phone-1")
        #expect(shown.output.contains("recipient u:jane of app shop"), "\(shown)")
        #expect(shown.output.contains("tok:") && !shown.output.contains(token))

        // The output for programs has only the fields that the record has.
        let json = try await user("jane", "--json").output
        let start = try #require(json.split(separator: "\n").first { $0.contains("start:Match") })
        let object = try JSONSerialization.jsonObject(with: Data(start.utf8))
        let row = try #require(object as? [String: Any])
        #expect(row["installation"] as? String == "phone-1" && row["registeredAt"] is Int)
        #expect(row["groupId"] == nil && row["expiresAt"] == nil && !json.contains("–"))
        #expect(try await user("nobody", "--json").output == "")
        let stranger = try await user("stranger")
        #expect(
            stranger.status == ExitCode.noInput && stranger.errors.contains("no token reaches user stranger"))
        #expect(try await phone("phone-2").status == ExitCode.noInput)

        let unregistered = try await installation.flotilla(
            "report", "--app", "shop", "--installation-id", "phone-1", "--kind", "unregister",
            "--attributes-type", "Match")
        #expect(unregistered.status == 0, "\(unregistered.errors)")
        try await eventually("the reason is shown") {
            try await phone("phone-1").output.contains(
                "start:Match is not reached: the app has unregistered the type")
        }
    }
}
