import APNs
import Catalog
import CatalogRecords
import Cryptography
import Foundation
import Glibc
import Identifiers
import IngestTesting
import JSON
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Sender
import Settings
import StageSupport
import TLS
import Telemetry
import TokenSealing
import Topics

@testable import APNsSimulator

/// Everything around a sender in a test: the topics of one installation on a cluster, a simulated APNs with a journal,
/// apps with their provider keys, and a producer in place of the fan-out.
///
/// A test makes a stand, starts a `RunningSender` on it, writes sheets of jobs (`SenderStand+Jobs.swift`), and reads
/// the requests that APNs received and the receipts that the sender wrote.
final class SenderStand: Sendable {
    /// An app of the test. APNs knows its bundle id and its key, and the sender's catalog has its settings.
    struct TestApp: Sendable {
        var id: String
        var bundleID: String
        var teamID = SimulatorCredentials.teamID
        /// The app's own provider key. Nil for the simulator's key.
        var keyID: String?
        var environments: [Environment] = [.production]

        static let shop = TestApp(id: "shop", bundleID: "com.example.matchday")
    }

    /// The objects of the simulated APNs. Only its loop uses them.
    private struct APNsParts: @unchecked Sendable {
        let simulator: Simulator
        let journal: Journal
        let faultInjector: ScriptedFaultInjector
        let tokens: KnownTokens
    }

    static let laneCount = 4
    private static let keysDirectoryName = "keys"

    /// The topics.
    let bed: TestBed
    /// Holds the provider keys, the slots of senders and their logs.
    let directory: TemporaryDirectory
    /// Writes the sheets and notes of the test.
    let producer: Producer
    private let apnsLoop: EventLoop
    private let apnsParts: APNsParts
    private let apps: [App]
    /// The own provider keys of the apps, by key id.
    private let keys: [String: SigningKey]
    private let authorityFile: String

    /// - Parameter script: The fault script of the simulated APNs, as JSON text. `{}` has no fault.
    init(_ brokers: [String], script: String = "{}", apps testApps: [TestApp] = [.shop]) throws {
        bed = try TestBed(brokers: brokers, lanes: Self.laneCount)
        producer = try Producer(settings: bed.settings, name: "fan-out", log: .silent, metrics: Metrics())
        directory = try TemporaryDirectory()
        let credentials = SimulatorCredentials()
        authorityFile = try directory.writeFile(
            named: "ca.pem", content: credentials.authority.certificatePEM)

        var keys: [String: SigningKey] = [:]
        for app in testApps {
            if let keyID = app.keyID { keys[keyID] = SigningKey() }
        }
        self.keys = keys
        apps = testApps.map { app in
            App(
                id: app.id, bundleID: app.bundleID, environments: app.environments, teamID: app.teamID,
                keyID: app.keyID ?? credentials.keyID)
        }

        apnsLoop = try EventLoop(name: "simulator")
        try apnsLoop.start()
        apnsParts = try Self.startAPNs(
            on: apnsLoop, settings: Self.apnsSettings(of: testApps, keys: keys), credentials: credentials,
            script: try Self.faultScript(script))

        mkdir(directory.filePath(named: Self.keysDirectoryName), 0o700)
        try write(
            credentials.signingKey, keyID: credentials.keyID, teamID: SimulatorCredentials.teamID)
        for app in testApps where app.keyID != nil { try useRightKey(of: app) }
    }

    deinit { apnsLoop.stop() }

    private static func apnsSettings(
        of testApps: [TestApp], keys: [String: SigningKey]
    ) -> SimulatorSettings {
        var settings = SimulatorSettings()
        for app in testApps {
            settings.apps[app.bundleID] = SimulatedApp()
            guard let keyID = app.keyID, let key = keys[keyID] else { continue }
            settings.keys.append(ProviderKey(keyID: keyID, teamID: app.teamID, key: key.verifyingKey))
        }
        return settings
    }

    private static func startAPNs(
        on loop: EventLoop, settings: SimulatorSettings, credentials: SimulatorCredentials,
        script: FaultScript
    ) throws -> APNsParts {
        let parts = loop.perform {
            let journal = Journal(on: loop, limits: JournalLimits(), file: nil, metrics: Metrics())
            let faultInjector = ScriptedFaultInjector(on: loop, script: script)
            let tokens = KnownTokens()
            let simulator = Simulator(
                settings: settings, credentials: credentials, on: loop, phones: tokens,
                faultInjector: faultInjector, journal: journal)
            return APNsParts(
                simulator: simulator, journal: journal, faultInjector: faultInjector, tokens: tokens)
        }
        guard let parts else { fatalError("the loop has ended") }
        try parts.simulator.start()
        return parts
    }

    private static func faultScript(_ text: String) throws -> FaultScript {
        try FaultScript(Array(text.utf8), with: JSONReader())
    }

    // MARK: The sender's surroundings

    /// Returns the settings of a sender that pushes to the simulated APNs.
    ///
    /// - Parameter change: Changes of the test.
    func settings(_ change: (inout SenderSettings) -> Void = { _ in }) -> SenderSettings {
        var settings = SenderSettings()
        settings.keysDirectory = directory.filePath(named: Self.keysDirectoryName)
        settings.authorities = authorityFile
        settings.production = .init(host: "localhost", port: apnsParts.simulator.ports.production)
        settings.sandbox = .init(host: "localhost", port: apnsParts.simulator.ports.sandbox)
        // Short times, so that another sender takes over a lane within the time of a test.
        settings.sessionMilliseconds = 6_000
        settings.limits.settleMilliseconds = 2_000
        change(&settings)
        return settings
    }

    /// Returns the environment of a sender process. A sender that starts after another sender has stopped gets the same
    /// slot, and so the same place in the consumer group.
    func environment(sealingKeys: SealingKeys? = nil) throws -> StageEnvironment {
        let apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        return StageEnvironment(
            cluster: Cluster(settings: bed.settings), layout: bed.layout,
            slot: try ProcessSlot.acquire(under: directory.filePath(named: "slots")),
            sealingKeys: sealingKeys, catalog: { CatalogSnapshot(apps: apps) })
    }

    // MARK: Provider keys

    /// Writes the provider key that APNs knows into the app's key file.
    func useRightKey(of app: TestApp) throws {
        guard let keyID = app.keyID, let key = keys[keyID] else {
            preconditionFailure("the app uses the key of the simulator")
        }
        try write(key, keyID: keyID, teamID: app.teamID)
    }

    /// Writes a new provider key, which APNs does not know, into the app's key file.
    func useWrongKey(of app: TestApp) throws {
        guard let keyID = app.keyID else { preconditionFailure("the app uses the key of the simulator") }
        try write(SigningKey(), keyID: keyID, teamID: app.teamID)
    }

    /// Writes a key where the sender looks for it: in a directory for each team, readable only for its owner.
    private func write(_ key: SigningKey, keyID: String, teamID: String) throws {
        let teamDirectory = "\(Self.keysDirectoryName)/\(teamID)"
        mkdir(directory.filePath(named: teamDirectory), 0o700)
        let file = try directory.writeFile(
            named: "\(teamDirectory)/AuthKey_\(keyID).p8", content: key.pem)
        chmod(file, 0o600)
    }

    // MARK: The simulated APNs

    /// Replaces the fault script of the simulated APNs.
    func setScript(_ text: String) throws {
        let script = try Self.faultScript(text)
        let parts = apnsParts
        _ = apnsLoop.perform { parts.faultInjector.replace(with: script) }
    }

    /// Makes APNs refuse each token in this environment as unknown. Nil ends that.
    func refuseAllTokens(in environment: Environment?) {
        let parts = apnsParts
        _ = apnsLoop.perform { parts.tokens.environmentWithoutTokens = environment }
    }

    /// The summary of the requests that APNs received.
    var journal: JournalSummary {
        let parts = apnsParts
        return apnsLoop.perform { parts.journal.summary } ?? JournalSummary()
    }

    /// Returns the number of requests that APNs received, up to 10,000 requests to all apps.
    func requestCount(toApp bundleID: String, in environment: Environment) -> Int {
        let parts = apnsParts
        return apnsLoop.perform {
            parts.journal.ring.page(after: 0, matching: JournalRing.Filter(), limit: 10_000).entries.count {
                $0.entry.facts.bundleID == bundleID && $0.entry.facts.environment == environment
            }
        } ?? 0
    }
}

/// The phones of the simulated APNs. They know all tokens, except those that begin with `unknownTokenPrefix`. Only the
/// simulator's loop uses them.
final class KnownTokens: SimulatedPhones {
    /// The first byte of a token that APNs does not know, as hex digits.
    static let unknownTokenPrefix = "aa"
    private static let unknownTokenByte: UInt8 = 0xAA

    /// The environment in which no token is known.
    var environmentWithoutTokens: Environment?

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        let isUnknown =
            token.bytes.first == Self.unknownTokenByte || environment == environmentWithoutTokens
        return isUnknown ? .unknown : .valid
    }

    func deliver(_ push: AcceptedPush) {}
    func tick(at time: Int64) {}
}
