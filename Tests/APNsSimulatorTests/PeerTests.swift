import Foundation
import Identifiers
import Payloads
import ProcessTesting
import Testing

@testable import APNsSimulator

/// The simulator with independent clients.
@Suite struct PeerTests {
    /// The path is not standardized, because a virtual environment depends on the path of its link to Python.
    private static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path
    private static let python = checkout + "/.build/conformance/push-client/bin/python"
    private let peers = checkout + "/Tests/Peers/"

    @Test func `curl pushes with a token that openssl signed`() async throws {
        let directory = try TemporaryDirectory()
        let credentials = try SimulatorCredentials(directory: directory.path)
        let journal = RecordedEntries()
        let simulator = try RunningSimulator(journal: journal, credentials: credentials)
        let script = try ChildProcess(
            "bash",
            arguments: [
                peers + "push.sh", directory.path, SimulatorCredentials.teamID,
                "https://localhost:\(simulator.simulator.ports.sandbox)", RunningSimulator.app,
                TestRequest.token,
            ])
        #expect(try await script.exitStatus() == 0, "\(script.errors)")
        #expect(script.output.contains("HTTP/2 200"), "\(script.output)\(script.errors)")
        #expect(script.output.contains("apns-id: ") && script.output.contains("apns-unique-id: "))
        try await eventually("the entry") { journal.entries.count == 1 }
        let entry = journal.entries[0]
        #expect(entry.outcome == .answered(status: 200, reason: nil, isSent: true))
        #expect(entry.facts.target == .token(PushToken(hex: TestRequest.token)!))
        #expect(entry.facts.bundleID == RunningSimulator.app && entry.facts.event == .update)
        let authorization = try #require(entry.request.headers.first { $0.name == "authorization" })
        #expect(authorization.value.hasPrefix("bearer ey") && authorization.value.hasSuffix(".…"))
    }

    /// `deploy/test` installs the client.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python)))
    func `a Python client pushes, and reads why a token is dead`() async throws {
        let directory = try TemporaryDirectory()
        let credentials = try SimulatorCredentials(directory: directory.path)
        let phones = KnownTokens([PushToken(hex: "aa")!: .unregistered(since: 1_763_632_800_123)])
        let simulator = try RunningSimulator(phones: phones, credentials: credentials)
        let client = try ChildProcess(
            Self.python,
            arguments: [
                peers + "aioapns-push.py", directory.path, credentials.keyID,
                SimulatorCredentials.teamID, String(simulator.simulator.ports.production),
                RunningSimulator.app + ".push-type.liveactivity", TestRequest.token, "aa",
            ])
        #expect(try await client.exitStatus() == 0, "\(client.errors)")
        #expect(client.output == "first 200\nthen 199\nlast 410 Unregistered 1763632800123\n")
        #expect(phones.delivered.count == 200)
    }

    @Test func `h2load gets every answer`() async throws {
        let directory = try TemporaryDirectory()
        let simulator = try RunningSimulator { $0.streams.initialStreams = 1_000 }
        let body = try directory.writeFile(named: "body", content: ReasonTests.paddedBody(byteCount: 600))
        let load = try ChildProcess(
            "h2load",
            arguments: [
                "-n", "5000", "-c", "4", "-m", "100", "-d", body,
                "-H", "authorization: bearer \(simulator.makeProviderToken())", "-H",
                "apns-push-type: liveactivity",
                "-H", "apns-topic: \(RunningSimulator.app).push-type.liveactivity",
                "-H", "apns-id: \(TestRequest.id)",
                "https://127.0.0.1:\(simulator.simulator.ports.production)/3/device/\(TestRequest.token)",
            ])
        #expect(try await load.exitStatus() == 0)
        #expect(load.output.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(load.output)")
        #expect(load.output.contains("status codes: 5000 2xx"))
    }
}
