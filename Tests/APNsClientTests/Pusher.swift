import Cryptography
import HTTP2
import Identifiers
import Lifecycle
import Payloads
import ProcessTesting
import TLS
import Telemetry

@testable import APNs

/// An APNs client on its own loop, which records the outcome of each push. A push has a tag, a number that is also its
/// apns-id. Only the test holds the pusher, so that it is released on the test's thread.
final class Pusher: Sendable {
    /// The outcome of a push, as the client reported it.
    struct Outcome: Sendable {
        let end: PushEnd
        /// Whether it follows the outcome of an overdue push.
        let isLate: Bool
        let status: Int
        let disposition: ResponseDisposition?
        let details: PushDetails?
    }

    let run: RunningLoop
    let metrics = Metrics()
    let tokens: ProviderTokens
    let provider: APNsProvider
    private let keys: TemporaryDirectory
    private let recorder = PushRecorder()

    static let keyName = ProviderKeyName(teamID: "TEAM123456", keyID: "KEY1234567")
    static let profile = PushProfile(environment: .sandbox, bundleID: "com.example.matchday", key: keyName)

    /// - Parameters:
    ///   - tokensAt: the time at which the provider token is made, if it is made before the first push.
    ///   - wall: the client's wall clock.
    init(
        _ server: Endpoint, trust: TLSTrust, tokensAt: Instant? = nil,
        key: (name: ProviderKeyName, pem: String) = (Pusher.keyName, SigningKey().pem),
        _ change: (inout APNsSettings) -> Void = { _ in },
        wall: @escaping @Sendable () -> WallTime = WallTime.now
    ) throws {
        keys = try TemporaryDirectory()
        let path = try keys.writeFile(named: "key.p8", content: key.pem)
        restrictToOwner(path)
        tokens = ProviderTokens(source: .files([key.name: path]), metrics: metrics) { now in
            // The wall time at `now`, which may lie in the past.
            ProviderClocks(
                trusted: WallTime(
                    nanoseconds: wall().nanoseconds - Instant.now().nanoseconds + now.nanoseconds))
        }
        let problems = tokens.reload()
        guard problems.isEmpty else { throw problems[0] }
        if let tokensAt { _ = tokens.bearer(for: key.name, at: tokensAt) }
        var settings = APNsSettings()
        settings.sandbox = .init(push: server, broadcast: server, channels: server)
        settings.trust = trust
        settings.connectBurst = 100
        // Some tests push without waiting for outcomes.
        settings.pool.waitingMax = 256
        change(&settings)
        provider = try APNsProvider(settings: settings, tokens: tokens, metrics: metrics, log: .silent)
        run = try RunningLoop()
        let (recorder, provider, loop) = (recorder, provider, run.loop)
        _ = loop.perform { recorder.client = APNsClient(provider: provider, on: loop, receiver: recorder) }
    }

    convenience init(
        _ server: ScriptedServer, tokensAt: Instant? = nil, _ change: (inout APNsSettings) -> Void = { _ in }
    ) throws {
        try self.init(
            Endpoint(host: "localhost", port: server.port),
            trust: .authorities(.text(server.authority.certificatePEM)), tokensAt: tokensAt, change)
    }

    /// Runs `body` on the client's loop.
    func onLoop<T: Sendable>(_ body: @escaping @Sendable (APNsClient) -> T) -> T {
        let recorder = recorder
        guard let value = run.loop.perform({ body(recorder.client!) }) else {
            fatalError("the loop has ended")
        }
        return value
    }

    // MARK: Pushes

    /// Pushes these tags, as many at a time as the client takes.
    func push(
        _ tags: Range<UInt64>, deadlineMilliseconds: Int = 60_000, over connections: PushConnections = .usual,
        profile: PushProfile = Pusher.profile, body: [UInt8] = Pusher.body
    ) {
        let recorder = recorder
        onLoop { client in
            guard let template = try? Pusher.template(client, profile, body: body) else { return }
            for tag in tags {
                recorder.waiting.append {
                    let token = Pusher.token(tag)
                    let deadline = client.loop.now.advanced(byMilliseconds: deadlineMilliseconds)
                    do {
                        try client.push(
                            template, token: token.span, id: PushID(high: 0, low: tag), tag: tag,
                            deadlines: PushDeadlines(deadline: deadline), over: connections)
                        return true
                    } catch {
                        return false
                    }
                }
            }
            recorder.sendWaiting()
        }
    }

    /// Pushes once with a template that may be wrong in any way.
    func push(_ tag: UInt64, template: @escaping @Sendable (APNsClient) throws -> PushTemplate) throws {
        let result = onLoop { client -> Result<Void, any Error> in
            Result {
                let deadline = client.loop.now.advanced(byMilliseconds: 60_000)
                try client.push(
                    template(client), token: Span(), id: PushID(high: 0, low: tag), tag: tag,
                    deadlines: PushDeadlines(deadline: deadline))
            }
        }
        try result.get()
    }

    static let body = Array(
        #"{"aps":{"timestamp":1763600000,"event":"update","content-state":{"home":1,"away":0}}}"#.utf8)

    static func template(
        _ client: APNsClient, _ profile: PushProfile = profile, body: [UInt8] = body
    ) throws -> PushTemplate {
        try client.template(
            profile,
            LiveActivityHeaders(
                topic: "com.example.matchday.push-type.liveactivity", priority: .immediate,
                expiration: 1_763_632_800),
            body: body)
    }

    /// Returns the token to which the push with a tag goes.
    static func token(_ tag: UInt64) -> [UInt8] {
        let tagBytes = (0..<8).map { UInt8(truncatingIfNeeded: tag >> UInt64(8 * $0)) }
        return [UInt8](repeating: 0xAB, count: 24) + tagBytes
    }

    /// Writes another key to the file and reloads it.
    func replaceKey() throws {
        let path = try keys.writeFile(named: "key.p8", content: SigningKey().pem)
        restrictToOwner(path)
        let problems = tokens.reload()
        guard problems.isEmpty else { throw problems[0] }
    }

    // MARK: Outcomes

    /// The outcomes of each push, by its tag. An overdue push has two: when it is overdue, and when no answer can
    /// follow.
    var outcomes: [UInt64: [Outcome]] { recorder.state.withLock { $0.outcomes } }
    /// The largest number of pushes that were open at the same time.
    var openPushesMax: Int { recorder.state.withLock { $0.openPushesMax } }
    func ends(of tag: UInt64) -> [PushEnd] { outcomes[tag, default: []].map(\.end) }

    /// Returns the first outcome of a push, once it has arrived.
    func outcome(of tag: UInt64) async throws -> Outcome {
        try await eventually("the outcome of push \(tag)") { outcomes[tag] != nil }
        return outcomes[tag]![0]
    }

    /// Waits for the outcomes of at least `count` pushes, and returns all of them.
    func allOutcomes(atLeast count: Int, seconds: Double = 60) async throws -> [UInt64: [Outcome]] {
        try await eventually("the outcomes of \(count) pushes", seconds: seconds) { outcomes.count >= count }
        return outcomes
    }

    deinit {
        let recorder = recorder
        _ = run.loop.perform {
            recorder.client?.stop()
            // Breaks the cycle of references: the client keeps the recorder, which keeps the client.
            recorder.client = nil
        }
    }
}

/// The part of a `Pusher` that is confined to the loop: it sends the waiting pushes and records outcomes.
private final class PushRecorder: PushReceiver, @unchecked Sendable {
    struct State {
        var outcomes: [UInt64: [Pusher.Outcome]] = [:]
        var openPushesMax = 0
    }

    let state = TracedLock(State())
    var client: APNsClient?
    /// Each sends a push, and returns whether the client has taken it.
    var waiting: ArraySlice<() -> Bool> = []

    /// Sends waiting pushes until the client takes no more.
    func sendWaiting() {
        while let next = waiting.first, next() { waiting.removeFirst() }
        guard let client else { return }
        state.withLock { $0.openPushesMax = max($0.openPushesMax, client.openPushes) }
    }

    func receive(_ outcomes: PushOutcomes) {
        state.withLock { state in
            for outcome in outcomes.list {
                state.outcomes[outcome.tag, default: []].append(
                    Pusher.Outcome(
                        end: outcome.end, isLate: outcome.isLate, status: Int(outcome.status),
                        disposition: outcome.disposition, details: outcomes.details(of: outcome)))
            }
        }
        sendWaiting()
    }
}
