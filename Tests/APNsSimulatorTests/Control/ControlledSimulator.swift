import APNs
import Cryptography
import Foundation
import Identifiers
import Lifecycle
import ProcessTesting
import Synchronization
import TLS
import Telemetry
import Testing

@testable import APNsSimulator

/// A whole simulator with its control API, which a test calls with `curl`. Tests use `withSimulator`, which also stops
/// it.
final class ControlledSimulator: Sendable {
    let connectionInfo: SimulatorConnectionInfo
    let trust: TLSContext
    let loop: EventLoop
    private let service: SimulatorService
    private let directory: TemporaryDirectory
    /// A provider token of the simulator's own key.
    private let bearer: String

    init(_ change: (inout SimulatorServiceSettings) -> Void = { _ in }) async throws {
        directory = try TemporaryDirectory()
        var settings = SimulatorServiceSettings(credentialsDirectory: directory.path)
        change(&settings)
        let startedInfo = Mutex<SimulatorConnectionInfo?>(nil)
        service = SimulatorService(settings: settings) { connectionInfo in
            startedInfo.withLock { $0 = connectionInfo }
        }
        try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        connectionInfo = try #require(startedInfo.withLock { $0 })
        trust = try TLSContext.client(trust: .authorities(.file(connectionInfo.authorityFile)))
        loop = try EventLoop(name: "client")
        try loop.start()
        bearer = ProviderToken.make(
            teamID: connectionInfo.teamID, keyID: connectionInfo.keyID,
            key: try SigningKey(file: connectionInfo.keyFile),
            at: .now())
    }

    /// Stops the simulator in order, which is a part of the test.
    func stop() async {
        await service.stop(by: .now().advanced(byMilliseconds: 5_000))
        loop.stop()
    }

    func client() -> PushClient { PushClient(port: connectionInfo.ports.production, trust: trust, on: loop) }

    /// A valid push. The number is in its apns-id, and the token is one of `ScriptSamples`, which no phone has.
    func push(_ number: Int = 0, token: Int = 0) -> TestRequest {
        let token = String(decoding: ScriptSamples.token(token).hex, as: UTF8.self)
        return .push(bearer).at("/3/device/\(token)").setting(
            "apns-id", "00000000-0000-0000-0000-\(100_000_000_000 + number)")
    }

    /// Calls the control API. Returns its answer, preceded by its status, for example `200 {"connections":1}`.
    @discardableResult
    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
        var arguments = [
            "-sS", "-X", method, "-w", "\n%{http_code}", "http://\(connectionInfo.controlAddress)\(path)",
        ]
        if let body { arguments += ["-d", body] }
        let curl = try ChildProcess("curl", arguments: arguments)
        let status = try await curl.exitStatus()
        #expect(status == 0, "\(curl.errors)")
        // curl writes the status on a line behind the answer.
        let lines = curl.output.split(separator: "\n", omittingEmptySubsequences: false)
        return "\(lines.last ?? "") " + lines.dropLast().joined(separator: "\n")
    }
}

/// An entry of the journal in the JSON of the control API.
struct JournalEntryJSON: Decodable {
    var number: Int
    var receivedAt: Int
    var endedAt: Int
    var stream: Int
    var token: String?
    var id: String
    var status: Int?
    var reason: String?
    var answerLeft: Bool?
    var silence: Bool?
    var notProcessed: Bool?
    var delivered: Bool
}

extension ControlledSimulator {
    /// Returns the newest entries, oldest first.
    func entries() async throws -> [JournalEntryJSON] {
        struct Page: Decodable { var entries: [JournalEntryJSON] }
        let answer = try await control("GET", "/v1/journal?limit=1000")
        return try JSONDecoder().decode(Page.self, from: Data(answer.dropFirst("200 ".count).utf8)).entries
    }

    /// Returns the summary of the journal as JSON, preceded by the status.
    func summary() async throws -> String { try await control("GET", "/v1/summary") }

    /// Returns the number of times that the first rule of the script has acted.
    func firstRuleHits() async throws -> Int {
        struct Script: Decodable {
            struct Rule: Decodable {
                struct Hits: Decodable { var acted: Int }
                var hits: Hits
            }
            var rules: [Rule]
        }
        let answer = try await control("GET", "/v1/script")
        return try JSONDecoder().decode(Script.self, from: Data(answer.dropFirst("200 ".count).utf8)).rules
            .first?.hits
            .acted ?? 0
    }

    /// Pushes with curl. Returns its exit status and the answer with its headers.
    func curl(
        _ arguments: [String], hasBody: Bool = true
    ) async throws -> (status: Int32, output: String) {
        let push = push()
        var all = ["-sS", "-i", "--http2", "--cacert", connectionInfo.authorityFile] + arguments
        if hasBody { all += ["-d", push.body] }
        for (name, value) in push.headers { all += ["-H", "\(name): \(value)"] }
        all.append("https://localhost:\(connectionInfo.ports.production)\(push.path)")
        let curl = try ChildProcess("curl", arguments: all)
        return (try await curl.exitStatus(), curl.output)
    }
}

/// Runs `body` with a simulator and stops the simulator in any case.
func withSimulator(
    _ change: (inout SimulatorServiceSettings) -> Void = { _ in },
    _ body: (ControlledSimulator) async throws -> Void
) async throws {
    let simulator = try await ControlledSimulator(change)
    do { try await body(simulator) } catch {
        await simulator.stop()
        throw error
    }
    await simulator.stop()
}
