import APNs
import Catalog
import CatalogRecords
import Cryptography
import Foundation
import Glibc
import Identifiers
import IngestTesting
import JSON
import Jobs
import Kafka
import KafkaTesting
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Sender
import Sends
import Settings
import StageSupport
import TLS
import Telemetry
import TokenSealing
import Topics

@testable import APNsSimulator

/// The surroundings of a sender in a test: its topics, a simulated APNs with a journal, and a writer in place of the
/// fan-out.
final class SenderStand: Sendable {
    /// The objects of the simulated APNs. Only its loop uses them.
    private struct Parts: @unchecked Sendable {
        let simulator: Simulator
        let journal: Journal
        let faultInjector: ScriptedFaultInjector
        let tokens: KnownTokens
    }

    static let bundleID = "com.example.matchday"
    static let lanes = 4

    let bed: TestBed
    let directory: TemporaryDirectory
    private let loop: EventLoop
    private let parts: Parts
    private let producer: Producer
    private let apps: [App]
    private let keys: [String: SigningKey]
    private let authorityFile: String

    /// An app that APNs knows, and the settings of its sender.
    struct AppSetting: Sendable {
        var id: String
        var bundleID: String
        var teamID = SimulatorCredentials.teamID
        /// Nil for the simulator's own key.
        var keyID: String?
        var environments: [Environment] = [.production]

        static let shop = AppSetting(id: "shop", bundleID: SenderStand.bundleID)
    }

    /// - Parameter script: The simulator's fault script as text.
    init(_ brokers: [String], script: String = "{}", apps settingsOfApps: [AppSetting] = [.shop]) throws {
        bed = try TestBed(brokers: brokers, lanes: Self.lanes)
        directory = try TemporaryDirectory()
        let credentials = SimulatorCredentials()
        let script = try FaultScript(Array(script.utf8), with: JSONReader())
        let loop = try EventLoop(name: "simulator")
        try loop.start()
        self.loop = loop
        var settings = SimulatorSettings()
        var files = [
            ("\(SimulatorCredentials.teamID)/AuthKey_\(credentials.keyID).p8", credentials.signingKey)
        ]
        var keys: [String: SigningKey] = [:]
        for app in settingsOfApps {
            settings.apps[app.bundleID] = SimulatedApp()
            guard let keyID = app.keyID else { continue }
            let key = SigningKey()
            keys[keyID] = key
            settings.keys.append(ProviderKey(keyID: keyID, teamID: app.teamID, key: key.verifyingKey))
            files.append(("\(app.teamID)/AuthKey_\(keyID).p8", key))
        }
        self.keys = keys
        let parts = loop.perform { [settings] in
            let journal = Journal(on: loop, limits: JournalLimits(), file: nil, metrics: Metrics())
            let faultInjector = ScriptedFaultInjector(on: loop, script: script)
            let tokens = KnownTokens()
            let simulator = Simulator(
                settings: settings, credentials: credentials, on: loop, phones: tokens,
                faultInjector: faultInjector, journal: journal)
            return Parts(simulator: simulator, journal: journal, faultInjector: faultInjector, tokens: tokens)
        }
        guard let parts else { fatalError("the loop has ended") }
        self.parts = parts
        try parts.simulator.start()
        mkdir(directory.filePath(named: "keys"), 0o700)
        for (file, key) in files {
            mkdir("\(directory.filePath(named: "keys"))/\(file.prefix { $0 != "/" })", 0o700)
            chmod(try directory.writeFile(named: "keys/\(file)", content: key.pem), 0o600)
        }
        authorityFile = try directory.writeFile(
            named: "ca.pem", content: credentials.authority.certificatePEM)
        apps = settingsOfApps.map { app in
            App(
                id: app.id, bundleID: app.bundleID, environments: app.environments, teamID: app.teamID,
                keyID: app.keyID ?? credentials.keyID)
        }
        producer = try Producer(settings: bed.settings, name: "fan-out", log: .silent, metrics: Metrics())
    }

    deinit { loop.stop() }

    func settings(_ change: (inout SenderSettings) -> Void = { _ in }) -> SenderSettings {
        var settings = SenderSettings()
        settings.keysDirectory = directory.filePath(named: "keys")
        settings.authorities = authorityFile
        settings.production = .init(host: "localhost", port: parts.simulator.ports.production)
        settings.sandbox = .init(host: "localhost", port: parts.simulator.ports.sandbox)
        settings.sessionMilliseconds = 6_000
        settings.limits.settleMilliseconds = 2_000
        change(&settings)
        return settings
    }

    func environment(_ slots: String, sealingKeys: SealingKeys? = nil) throws -> StageEnvironment {
        let apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        return StageEnvironment(
            cluster: Cluster(settings: bed.settings), layout: bed.layout,
            slot: try ProcessSlot.acquire(under: directory.filePath(named: slots)), sealingKeys: sealingKeys,
            catalog: { CatalogSnapshot(apps: apps) })
    }

    /// Writes the key file of an app's team: the right key, or another key under its name.
    func putKey(_ keyID: String, of app: AppSetting, isRight: Bool) throws {
        let key = isRight ? keys[keyID] : SigningKey()
        let file = try directory.writeFile(
            named: "keys/\(app.teamID)/AuthKey_\(keyID).p8", content: (key ?? SigningKey()).pem)
        chmod(file, 0o600)
    }

    /// Changes the simulator's script.
    func setScript(_ text: String) throws {
        let script = try FaultScript(Array(text.utf8), with: JSONReader())
        let parts = parts
        _ = loop.perform { parts.faultInjector.replace(with: script) }
    }

    /// Sets whether tokens are known in the environment.
    func setKnown(_ isKnown: Bool, in environment: Environment) {
        let parts = parts
        _ = loop.perform { parts.tokens.environmentWithoutTokens = isKnown ? nil : environment }
    }

    // MARK: Jobs

    func head(
        _ event: PushEvent, version: Int64 = 1, group: String = "m1", of app: AppSetting = .shop,
        in environment: Environment = .production
    ) -> SheetHead {
        let now = WallTime.now().milliseconds
        return SheetHead(
            topic: app.bundleID + ".push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + 3_600, app: app.id, environment: environment, send: "s\(version)",
            group: group, scope: .group,
            generation: 0, version: version, event: event, deadline: now / 1000 + 3_600, acceptedAt: now)
    }

    /// Writes a sheet of jobs to phones with these numbers, and waits until it is stored.
    ///
    /// - Parameters:
    ///   - areKnown: Whether APNs knows the phones' tokens.
    ///   - areProven: Whether APNs has accepted the tokens before, according to the sheet.
    ///   - seal: The seal of the tokens, or nil for tokens in clear text.
    func write(
        _ head: SheetHead, to phones: Range<Int>, lane: Int32, _ topic: TopicName = .jobs,
        areKnown: Bool = true, areProven: Bool = true, sealedBy seal: TokenSeal? = nil
    ) throws {
        var lines = JobLines()
        for phone in phones {
            let token =
                (areKnown ? "bb" : "aa") + String(repeating: "0", count: 54)
                + String(100_000_000 + phone).suffix(8)
            let entry = head.event == .start ? "start:Match" : "update:a\(phone)"
            var storedToken = token
            if let seal, let pushToken = PushToken(hex: token) {
                storedToken = seal.seal(pushToken, app: head.app, entry: entry)
            }
            lines.append(
                token: Array(storedToken.utf8).span, installation: Array("i\(phone)".utf8).span,
                entry: Array(entry.utf8).span,
                recipient: Array("u:u\(phone)".utf8).span)
        }
        var headers = RecordHeaders(capacity: 3)
        headers.add(SheetHeaderName.apns, value: head.apnsLines.span)
        headers.add(SheetHeaderName.flotilla, value: head.flotillaLines.span)
        headers.add(SheetHeaderName.to, value: lines.bytes.span)
        let unproven = areProven ? LineSet() : LineSet(all: lines.count)
        if let value = UnprovenLines.headerValue(of: unproven) {
            headers.add(SheetHeaderName.unproven, value: value.span)
        }
        let start =
            head.event == .start
            ? #","attributes-type":"Match","attributes":{},"alert":{"title":"a","body":"b"}"# : ""
        let body =
            #"{"aps":{"timestamp":\#(head.acceptedAt / 1000),"event":"\#(head.event.rawValue)","content-state":{"home":1}\#(start)}}"#
        let target = try producer.topic(named: bed.layout.name(of: topic))
        let result = producer.send(
            to: target, partition: lane, key: nil, value: Array(body.utf8).span, headers: &headers, tag: 1)
        precondition(result == .queued)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
        precondition(deliveries.allSatisfy(\.isStored))
    }

    /// Writes a note, as the planner does, and waits until it is stored.
    func write(_ note: SupersededVersions) throws {
        let target = try producer.topic(named: bed.layout.name(of: .superseded))
        _ = producer.send(to: target, partition: 0, key: note.key.span, value: note.encoded().span, tag: 1)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
    }

    // MARK: Results

    /// The summary of the requests that APNs received.
    var journal: JournalSummary {
        let parts = parts
        return loop.perform { parts.journal.summary } ?? JournalSummary()
    }

    /// Returns the number of requests that APNs received.
    func requestCount(toApp bundleID: String, in environment: Environment) -> Int {
        let parts = parts
        return loop.perform {
            parts.journal.ring.page(after: 0, matching: JournalRing.Filter(), limit: 10_000).entries.count {
                $0.entry.facts.bundleID == bundleID && $0.entry.facts.environment == environment
            }
        } ?? 0
    }

    /// Returns the final outcomes of each job.
    func finalOutcomes() throws -> [WrittenJob: [ReceiptOutcome]] {
        let reader = JSONReader()
        var outcomes: [WrittenJob: [ReceiptOutcome]] = [:]
        for record in try TopicContent(of: .receipts, in: bed).records {
            let receipt = try Receipt.decode(record.value ?? [], with: reader)
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { line in
                    outcomes[WrittenJob(position: receipt.position, line: line), default: []].append(
                        part.outcome)
                }
            }
        }
        return outcomes
    }
}

/// A job by its first position and its line.
struct WrittenJob: Hashable {
    let position: JobPosition
    let line: Int
}

/// The phones of the simulated APNs. They know all tokens, except those that begin with `aa`.
private final class KnownTokens: SimulatedPhones {
    /// The environment in which no token is known. It is used only on the simulator's loop, as everything
    /// here.
    var environmentWithoutTokens: Environment?

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        token.bytes.first == 0xAA || environment == environmentWithoutTokens ? .unknown : .valid
    }

    func deliver(_ push: AcceptedPush) {}
    func tick(at time: Int64) {}
}

/// A sender that runs in this process.
final class RunningSender: Sendable {
    let service: SenderService
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])
    private let file: FileHandle
    private let path: String
    private let sink: LogSink

    init(
        _ stand: SenderStand, slots: String, sealingKeys: SealingKeys? = nil,
        _ change: (inout SenderSettings) -> Void = { _ in }
    ) async throws {
        service = SenderService(
            stand.settings(change), in: try stand.environment(slots, sealingKeys: sealingKeys))
        path = stand.directory.filePath(named: "log-\(slots)")
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw CocoaError(.fileWriteUnknown) }
        self.file = file
        sink = LogSink(level: .info, format: .text, descriptor: file.fileDescriptor)
        let failures = failures
        try await service.start(
            ServiceContext(log: Log(component: "sender", sink: sink), metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The log so far.
    var log: String {
        sink.flush(withinMilliseconds: 5_000)
        return (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, or 0 if it does not exist.
    func metric(_ name: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// Returns the number of receipts with this outcome.
    func outcomes(_ outcome: ReceiptOutcome) -> Int {
        Int(metric("flotilla_sender_records_total{outcome=\"\(outcome.rawValue)\"}"))
    }
}
