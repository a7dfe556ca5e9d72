import APNs
import Cryptography
import Identifiers
import JSON
import Lifecycle
import TLS
import Telemetry

@testable import APNsSimulator

/// A simulated APNs with a script, a journal and a few dead tokens (`DeadTokens`), and a client for it, `pusher`.
final class SimulatorStand: Sendable {
    /// The key of the client, and what the simulator allows it.
    enum Key: Sendable {
        case valid
        /// A key that differs from the one that Apple has under this name.
        case forged
        /// A key that is valid in the sandbox, while the client pushes in production.
        case sandboxOnly
        /// A key that is valid for another app.
        case otherApp
    }

    private static let sandboxKeyID = "SANDBOXKEY"
    private static let otherAppKeyID = "NARROWKEY1"

    static let app = "com.example.matchday"
    /// An app without the broadcast capability.
    static let quietApp = "com.example.quiet"

    /// The parts that are confined to the simulator's loop.
    private struct Parts: @unchecked Sendable {
        let simulator: Simulator
        let journal: Journal
    }

    private let run: RunningLoop
    private let parts: Parts
    let profile: PushProfile
    let pusher: Pusher

    /// - Parameters:
    ///   - script: the script as JSON.
    ///   - tokenAgeSeconds: the age of the client's provider token.
    ///   - clockLagSeconds: the time by which the client's clock is behind.
    init(
        _ script: String = "{}", key: Key = .valid, tokenAgeSeconds: Int = 0, clockLagSeconds: Int = 0,
        simulator change: @Sendable (inout SimulatorSettings) -> Void = { _ in },
        client: (inout APNsSettings) -> Void = { _ in }
    ) throws {
        let credentials = SimulatorCredentials()
        let script = try FaultScript(Array(script.utf8), with: JSONReader())
        let run = try RunningLoop()
        let otherKey = SigningKey()
        let settings = Self.settings(otherKey: otherKey, change)
        let parts = run.loop.perform {
            let injector = ScriptedFaultInjector(on: run.loop, script: script)
            let journal = Journal(on: run.loop, limits: JournalLimits(), file: nil, metrics: Metrics())
            let simulator = Simulator(
                settings: settings, credentials: credentials, on: run.loop, phones: DeadTokens(),
                faultInjector: injector,
                journal: journal)
            return Parts(simulator: simulator, journal: journal)
        }
        guard let parts else { fatalError("the loop has ended") }
        self.parts = parts
        self.run = run
        try parts.simulator.start()

        let keyID =
            switch key {
            case .valid, .forged: credentials.keyID
            case .sandboxOnly: Self.sandboxKeyID
            case .otherApp: Self.otherAppKeyID
            }
        let name = ProviderKeyName(teamID: SimulatorCredentials.teamID, keyID: keyID)
        profile = PushProfile(environment: .production, bundleID: Self.app, key: name)
        let ports = parts.simulator.ports
        let push = Endpoint(host: "localhost", port: ports.production)
        let channels = Endpoint(host: "localhost", port: ports.productionChannels)
        pusher = try Pusher(
            push, trust: .authorities(.text(credentials.authority.certificatePEM)),
            tokensAt: Instant.now().advanced(byMilliseconds: -tokenAgeSeconds * 1_000),
            key: (name, key == .valid ? credentials.signingKey.pem : otherKey.pem),
            {
                $0.production = .init(push: push, broadcast: push, channels: channels)
                client(&$0)
            },
            wall: { WallTime(milliseconds: WallTime.now().milliseconds - Int64(clockLagSeconds) * 1_000) })
    }

    private static func settings(
        otherKey: SigningKey, _ change: (inout SimulatorSettings) -> Void
    ) -> SimulatorSettings {
        var settings = SimulatorSettings()
        let team = SimulatorCredentials.teamID
        settings.keys = [
            ProviderKey(
                keyID: sandboxKeyID, teamID: team, key: otherKey.verifyingKey, environments: [.sandbox]),
            ProviderKey(
                keyID: otherAppKeyID, teamID: team, key: otherKey.verifyingKey, apps: ["com.example.other"]),
        ]
        settings.apps = [app: SimulatedApp(), quietApp: SimulatedApp(mayBroadcast: false)]
        change(&settings)
        return settings
    }

    /// Returns the simulator's entries for one push, found by its id.
    func requests(of tag: UInt64) -> [(connection: Int, end: JournalEntry.Outcome)] {
        journal.filter { $0.id == PushID(high: 0, low: tag) }.map {
            ($0.facts.connection, $0.outcome)
        }
    }

    /// The newest requests, oldest first. Each appears when its end is known.
    var journal: [JournalEntry] {
        let parts = parts
        return run.loop.perform {
            parts.journal.ring.page(after: 0, matching: JournalRing.Filter(), limit: 10_000).entries.map(
                \.entry)
        } ?? []
    }

    /// The counts of the whole journal.
    var summary: JournalSummary {
        let parts = parts
        return run.loop.perform { parts.journal.summary } ?? JournalSummary()
    }
}

/// Tokens that begin with `aa` to `ad` are dead, each for another reason. All others are valid. The tokens of `Pusher`
/// begin with `ab` too, but have 32 bytes, and are valid.
private final class DeadTokens: SimulatedPhones {
    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        switch token.bytes.first {
        case 0xAA: .unknown
        case 0xAB where token.bytes.count < 32: .wrongTopic
        case 0xAC: .unregistered(since: 1_763_632_800_123)
        case 0xAD: .expired(since: 1_763_632_800_456)
        default: .valid
        }
    }

    func deliver(_ push: AcceptedPush) {}
    func tick(at time: Int64) {}
}
