import APNs
import Catalog
import Cryptography
import Glibc
import IngestTesting
import JSON
import Kafka
import KafkaTesting
import Lifecycle
import LiveActivity
import ProcessTesting
import Sender
import Settings
import Stages
import TLS
import Telemetry
import Topics

@testable import APNsSimulator

/// Topics for one test, a simulated APNs with a journal, and what a fan-out would write.
final class SenderStand: Sendable {
    private struct Parts: @unchecked Sendable {
        let simulator: Simulator
        let journal: Journal
    }

    static let bundleID = "com.example.matchday"
    static let lanes = 4

    let bed: IngestBed
    let directory: TemporaryDirectory
    private let loop: EventLoop
    private let parts: Parts
    private let producer: Producer
    private let app: App
    private let authorityFile: String

    /// - Parameter script: how the simulator misbehaves, as people write it.
    init(_ brokers: [String], script: String = "{}") throws {
        bed = try IngestBed(brokers, lanes: Self.lanes)
        directory = try TemporaryDirectory()
        let credentials = SimulatorCredentials()
        let script = try Script(Array(script.utf8), with: JSONReader())
        let loop = try EventLoop(name: "simulator")
        try loop.start()
        self.loop = loop
        var settings = SimulatorSettings()
        settings.apps = [Self.bundleID: SimulatedApp()]
        let made = loop.perform { [settings] in
            let journal = Journal(on: loop, limits: JournalLimits(), file: nil, metrics: Metrics())
            let simulator = Simulator(
                settings, credentials: credentials, on: loop, phones: GoodTokens(),
                mischief: ScriptedMischief(on: loop, script: script), journal: journal)
            return Parts(simulator: simulator, journal: journal)
        }
        guard let made else { fatalError("the loop has ended") }
        parts = made
        try parts.simulator.start()
        let keys = directory.file("keys")
        mkdir(keys, 0o700)
        mkdir("\(keys)/\(SimulatorCredentials.teamID)", 0o700)
        let key = try directory.write(
            "keys/\(SimulatorCredentials.teamID)/AuthKey_\(credentials.keyID).p8", credentials.signingKey.pem)
        chmod(key, 0o600)
        authorityFile = try directory.write("ca.pem", credentials.authority.certificatePEM)
        app = App(
            id: "shop", bundleID: Self.bundleID, environments: [.production],
            teamID: SimulatorCredentials.teamID, keyID: credentials.keyID)
        producer = try Producer(bed.settings, name: "fan-out", log: .silent, metrics: Metrics())
    }

    deinit { loop.stop() }

    func settings(_ change: (inout SenderSettings) -> Void = { _ in }) -> SenderSettings {
        var settings = SenderSettings()
        settings.keysDirectory = directory.file("keys")
        settings.authorities = authorityFile
        settings.production = .init(host: "localhost", port: parts.simulator.ports.production)
        settings.sessionMilliseconds = 6_000
        settings.limits.settleMilliseconds = 2_000
        change(&settings)
        return settings
    }

    func environment(_ slots: String) throws -> StageEnvironment {
        let app = app
        return StageEnvironment(
            cluster: Cluster(bed.settings), layout: bed.layout,
            slot: try Slot.take(under: directory.file(slots)), sealingKeys: nil,
            catalog: { CatalogView(apps: [app.id: app]) })
    }

    // MARK: Jobs

    func head(_ event: PushEvent, version: Int64 = 1, group: String = "m1") -> SheetHead {
        let now = WallTime.now().milliseconds
        return SheetHead(
            topic: Self.bundleID + ".push-type.liveactivity", priority: 10, expiration: now / 1000 + 3_600,
            app: "shop", environment: .production, send: "s\(version)", group: group, scope: .group,
            generation: 0, version: version, event: event, deadline: now / 1000 + 3_600, acceptedAt: now)
    }

    /// Writes a sheet of jobs to phones with these numbers, and waits until it is there.
    ///
    /// - Parameter areKnown: whether APNs knows the phones' tokens.
    func write(
        _ head: SheetHead, to phones: Range<Int>, lane: Int32, _ topic: TopicName = .jobs,
        areKnown: Bool = true
    ) throws {
        var lines = JobLines()
        for phone in phones {
            let token =
                (areKnown ? "bb" : "aa") + String(repeating: "0", count: 54)
                + String(100_000_000 + phone).suffix(8)
            lines.append(
                token: Array(token.utf8).span, installation: Array("i\(phone)".utf8).span,
                entry: Array(head.event == .start ? "start:Match".utf8 : "update:a\(phone)".utf8).span,
                recipient: Array("u:u\(phone)".utf8).span)
        }
        var headers = RecordHeaders(capacity: 3)
        headers.add(SheetHeader.apns, head.apnsLines.span)
        headers.add(SheetHeader.flotilla, head.flotillaLines.span)
        headers.add(SheetHeader.to, lines.bytes.span)
        let start =
            head.event == .start
            ? #","attributes-type":"Match","attributes":{},"alert":{"title":"a","body":"b"}"# : ""
        let body =
            #"{"aps":{"timestamp":\#(head.acceptedAt / 1000),"event":"\#(head.event.rawValue)","content-state":{"home":1}\#(start)}}"#
        let target = try producer.topic(bed.layout.name(topic))
        let result = producer.send(
            to: target, partition: lane, key: nil, value: Array(body.utf8).span, headers: &headers, tag: 1)
        precondition(result == .queued)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
        precondition(deliveries.allSatisfy(\.isStored))
    }

    func write(_ note: SupersededNote) throws {
        let target = try producer.topic(bed.layout.name(.superseded))
        _ = producer.send(to: target, partition: 0, key: note.key.span, value: note.encoded().span, tag: 1)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
    }

    // MARK: What became of them

    var journal: JournalSummary {
        let parts = parts
        return loop.perform { parts.journal.summary } ?? JournalSummary()
    }

    /// Receipts of a final outcome, by job.
    func finals() throws -> [WrittenJob: [ReceiptOutcome]] {
        let reader = JSONReader()
        var found: [WrittenJob: [ReceiptOutcome]] = [:]
        for record in try TopicContent(.receipts, bed).records {
            let receipt = try Receipt.decode(record.value ?? [], with: reader)
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { line in
                    found[WrittenJob(place: receipt.place, line: line), default: []].append(part.outcome)
                }
            }
        }
        return found
    }
}

struct WrittenJob: Hashable {
    let place: JobPlace
    let line: Int
}

/// All tokens are good, but for those that begin with `aa`.
private final class GoodTokens: SimulatedPhones {
    func standing(
        of token: PushToken, environment: LiveActivity.Environment, bundleID: String, at time: Int64
    ) -> TokenStanding { token.bytes.first == 0xAA ? .unknown : .good }

    func deliver(_ push: AcceptedPush) {}
    func tick(at time: Int64) {}
}

/// A sender that runs in this process.
final class RunningSender: Sendable {
    let service: SenderService
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    init(_ stand: SenderStand, slots: String, _ change: (inout SenderSettings) -> Void = { _ in })
        async throws
    {
        service = SenderService(stand.settings(change), in: try stand.environment(slots))
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    func metric(_ name: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    func outcomes(_ outcome: ReceiptOutcome) -> Int {
        Int(metric("flotilla_sender_records_total{outcome=\"\(outcome.rawValue)\"}"))
    }
}
