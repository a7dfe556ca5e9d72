import Broker
import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import Testing
import TokenSealing
import Topics

/// After each failure a running process reads everything again from the committed offsets, once. State in
/// memory and records that were read ahead no longer count.
@Suite struct StartingOverTests {
    /// The session timeout. It is long enough that a slow machine loses no membership, which would be another
    /// start over.
    private static let sessionMilliseconds = 45_000
    private static let startedOver = "flotilla_ingest_started_over_total"

    private func report(_ kind: Report.Kind, _ phone: String = "phone", type: String? = nil) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: phone, kind: kind)
        report.attributesType = type
        if kind == .startToken { report.token = String(repeating: type == "A" ? "ab" : "cd", count: 32) }
        if kind == .profile { report.user = "user-of-\(phone)" }
        return report
    }

    /// Returns a phone with a start token, as an earlier stage has written it.
    private func phone(_ number: Int) -> Installation {
        let at = ReportTime(claimed: nil, received: WallTime.now().milliseconds, order: .first)
        let seal = TokenSeal(keys: nil)
        let token = PushToken(hex: String(repeating: "ab", count: 32))!
        var installation = Installation(app: TestBed.app.id, subject: .installation("phone-\(number)"))
        installation.environment = Timestamped(.production, at: at)
        installation.startTokens = [
            Installation.StartToken(
                type: "A",
                token: Installation.Token(
                    hash: Hex.text(of: seal.hash(of: token)),
                    sealed: seal.seal(token, app: TestBed.app.id, entry: "start:A"),
                    environment: .production, at: at))
        ]
        return installation
    }

    /// Takes over the stage's transactional id, so that its next request in a transaction is refused.
    private func fence(_ identity: String, _ bed: TestBed) throws {
        let other = try TransactionalProducer(
            settings: bed.settings, transactionalID: identity, name: "other", log: .silent, metrics: Metrics()
        )
        try other.initialize()
    }

    @Test(arguments: [
        IngestStep.transactionBegun, .installationsSent, .registrySent, .eventsSent, .offsetsSent,
    ])
    func `a transaction that fails at any step causes one start over, and records read ahead are not merged`(
        step: IngestStep
    ) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let sender = try RecordWriter(on: bed)
        var mix = ReportGenerator(installations: 30, seed: 5)
        for _ in 0..<300 { sender.write(mix.next()) }
        #expect(sender.finish())
        let times = TracedLock(0)
        let settings = bed.settings
        let identity = try bed.environment(under: directory.path).identity(of: IngestService.name)
        let stage = try await Stage(
            bed, directory: directory.path,
            {
                $0.batchRecordsMax = 20
                $0.sessionMilliseconds = Self.sessionMilliseconds
            },
            onStep: { reached, _ in
                guard reached == step else { return }
                let isThird = times.withLock { times in
                    times += 1
                    return times == 3
                }
                if isThird {
                    let other = try? TransactionalProducer(
                        settings: settings, transactionalID: identity, name: "other", log: .silent,
                        metrics: Metrics())
                    try? other?.initialize()
                }
            })
        try await eventually("all reports are handled") { stage.handled == 300 || stage.failure != nil }
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startedOver) == 1)
        await stage.stop()
        try judge(bed)
    }

    @Test func `a stage whose membership another process took is not ready until it has joined again`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let identity = try bed.environment(under: directory.path).identity(of: IngestService.name)
        let stage = try await Stage(
            bed, directory: directory.path, { $0.sessionMilliseconds = Self.sessionMilliseconds })
        try await eventually("the stage is ready") { stage.obstacles.isEmpty }
        let other = try Consumer(
            settings: bed.settings,
            options: ConsumerOptions(
                membership: .group(
                    bed.layout.prefix + "ingest", instanceID: identity,
                    topics: [bed.layout.name(of: .reports)])),
            name: "other", log: .silent, metrics: Metrics())
        try await eventually("the stage reports that it has lost its partitions") {
            var batch = RecordBatch()
            for event in other.poll(into: &batch, waitMilliseconds: 10) {
                if case .offered(let partitions) = event { try? other.assignFromCommittedOffsets(partitions) }
            }
            return stage.obstacles.contains { $0.contains("were lost") } || stage.failure != nil
        }
        _ = other.close()
        try await eventually("the stage is ready again") { stage.obstacles.isEmpty || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
    }

    @Test func `a stage for which the group has no partition is ready`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (one, two) = (try TemporaryDirectory(), try TemporaryDirectory())
        let stages = [
            try await Stage(bed, directory: one.path), try await Stage(bed, directory: two.path),
        ]
        try await eventually("both stages are ready") { stages.allSatisfy(\.obstacles.isEmpty) }
        for stage in stages {
            #expect(stage.failure == nil)
            await stage.stop()
        }
    }

    @Test func `a commit without an answer counts, and the state in memory from before it is dropped`()
        async throws
    {
        let broker = try FaultyBroker()
        let bed = try TestBed(brokers: broker.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let sender = try RecordWriter(on: bed)
        let identity = try bed.environment(under: directory.path).identity(of: IngestService.name)
        let stage = try await Stage(
            bed, directory: directory.path,
            { $0.sessionMilliseconds = Self.sessionMilliseconds })
        func send(_ reports: Report..., handled count: Int) async throws {
            for report in reports { sender.write(report) }
            #expect(sender.finish())
            try await eventually("\(count) reports handled") {
                stage.handled == count || stage.failure != nil
            }
        }
        try await send(report(.heartbeat, "another"), handled: 1)
        // From here the view reads nothing back, and the stage uses its overlay.
        let held = try OpenTransaction(on: bed, topic: .installations)
        try await send(report(.startToken, type: "A"), handled: 2)
        try await send(report(.startToken, type: "A"), handled: 3)
        broker.answer(.endTransaction, with: .closeConnection)
        sender.write(report(.startToken, type: "B"))
        #expect(sender.finish())
        try await eventually("the answer to the commit is lost") { broker.met(.endTransaction) > 0 }
        try fence(identity, bed)
        broker.answer(.endTransaction, with: .deliver)
        try await eventually("the stage starts over") { stage.metric(Self.startedOver) == 1 }
        try held.abort()
        try await send(report(.profile), handled: 4)
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startedOver) == 1)
        await stage.stop()
        let rows = try TopicContent(of: .registry, in: bed).newestValues.keys.map {
            String(decoding: $0, as: UTF8.self)
        }
        let tokens = rows.filter { $0.hasPrefix("shop/u:user-of-phone/") && $0.contains("start") }
        #expect(tokens.count == 2, "\(rows)")
        try judge(bed)
    }

    /// Committed rows that are not read back are bounded in bytes. If the view lags, the stage waits, and
    /// then starts over with an empty overlay.
    @Test func `beyond the bytes of its overlay a stage waits for its view and starts over`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let sender = try RecordWriter(on: bed)
        let stage = try await Stage(
            bed, directory: directory.path,
            {
                $0.sessionMilliseconds = Self.sessionMilliseconds
                $0.overlayBytesMax = 1000
            })
        sender.write(report(.heartbeat, "another"))
        #expect(sender.finish())
        try await eventually("the stage serves") { stage.handled == 1 || stage.failure != nil }
        let held = try OpenTransaction(on: bed, topic: .installations)
        for number in 0..<100 { sender.write(report(.startToken, "phone-\(number)", type: "A")) }
        #expect(sender.finish())
        try await eventually("the stage stops waiting and starts over") { stage.metric(Self.startedOver) > 0 }
        try held.abort()
        try await eventually("all reports are handled") { stage.handled == 101 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        try judge(bed)
    }

    @Test func `a view is complete only with the records behind an open transaction`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let sender = try RecordWriter(on: bed)
        func send(_ report: Report, to stage: Stage, handled count: Int) async throws {
            sender.write(report)
            #expect(sender.finish())
            try await eventually("\(count) reports handled") {
                stage.handled == count || stage.failure != nil
            }
        }
        let (first, second) = (try TemporaryDirectory(), try TemporaryDirectory())
        var stage = try await Stage(bed, directory: first.path)
        try await send(report(.heartbeat, "another"), to: stage, handled: 1)
        // This test does not end the transaction. The cluster aborts it by its timeout.
        let held = try OpenTransaction(
            on: bed, topic: .installations, heldMilliseconds: TransactionalProducer.transactionMillisecondsMax
        )
        try await send(report(.startToken, type: "A"), to: stage, handled: 2)
        await stage.stop()
        stage = try await Stage(bed, directory: second.path)
        try await send(report(.profile), to: stage, handled: 1)
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startedOver) == 0)
        await stage.stop()
        withExtendedLifetime(held) {}
        try judge(bed)
    }

    @Test func `a view of more than one batch is read to its end before reports flow`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let count = 25_000
        try WrittenInstallations.write((0..<count).lazy.map(phone), to: bed)
        let sender = try RecordWriter(on: bed)
        let late = (count - 10)..<count
        for number in late { sender.write(report(.profile, "phone-\(number)")) }
        #expect(sender.finish())
        let stage = try await Stage(bed, directory: directory.path)
        try await eventually("all reports are handled") { stage.handled == 10 || stage.failure != nil }
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startedOver) == 0)
        await stage.stop()
        let rows = Set(
            try TopicContent(of: .registry, in: bed).newestValues.keys.map {
                String(decoding: $0, as: UTF8.self)
            })
        for number in late {
            #expect(
                rows.contains("shop/u:user-of-phone-\(number)/phone-\(number)/start:A"),
                "\(rows.sorted().prefix(4))")
        }
    }
}
