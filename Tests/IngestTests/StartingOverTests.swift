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

/// Tests of a running stage that starts over after a failure: it reads again from the committed offsets, once. State in
/// memory and records that were read ahead no longer count. At the end of a test the topics must have the result of
/// each report exactly once (`expectModel`).
///
/// A test makes a transaction fail by `fence`: another producer takes the stage's transactional id. `OpenTransaction`
/// keeps a transaction open, so that the stage's view cannot read the records behind it.
@Suite struct StartingOverTests {
    /// The session timeout. It is long enough that a slow machine loses no membership, which would be another
    /// start over.
    private static let sessionMilliseconds = 45_000
    private static let startOversMetric = "flotilla_ingest_started_over_total"

    /// Returns a report of a phone. A start token report has a token that depends on the type, and a profile report has
    /// a login.
    private func report(_ kind: Report.Kind, of phone: String = "phone", type: String? = nil) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: phone, kind: kind)
        report.attributesType = type
        if kind == .startToken { report.token = String(repeating: type == "A" ? "ab" : "cd", count: 32) }
        if kind == .profile { report.user = "user-of-\(phone)" }
        return report
    }

    /// Returns a phone with a start token, as an earlier stage has written it.
    private func writtenInstallation(number: Int) -> Installation {
        let time = ReportTime(claimed: nil, received: WallTime.now().milliseconds, order: .first)
        let seal = TokenSeal(keys: nil)
        let token = PushToken(hex: String(repeating: "ab", count: 32))!
        var installation = Installation(app: TestBed.app.id, subject: .installation("phone-\(number)"))
        installation.environment = Timestamped(.production, at: time)
        installation.startTokens = [
            Installation.StartToken(
                type: "A",
                token: Installation.Token(
                    hash: Hex.text(of: seal.hash(of: token)),
                    sealed: seal.seal(token, app: TestBed.app.id, entry: "start:A"),
                    environment: .production, at: time))
        ]
        return installation
    }

    /// Takes over the stage's transactional id, so that its next request in a transaction is refused.
    private static func fence(transactionalID: String, settings: KafkaSettings) throws {
        let producer = try TransactionalProducer(
            settings: settings, transactionalID: transactionalID, name: "other", log: .silent,
            metrics: Metrics())
        try producer.initialize()
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
        let writer = try RecordWriter(on: bed)
        var generator = ReportGenerator(installations: 30, seed: 5)
        for _ in 0..<300 { writer.write(generator.next()) }
        #expect(writer.finish())
        let occurrences = TracedLock(0)
        let settings = bed.settings
        let identity = try bed.environment(under: directory.path).identity(of: IngestService.name)
        let stage = try await Stage(
            bed, directory: directory.path,
            {
                $0.batchRecordsMax = 20
                $0.sessionMilliseconds = Self.sessionMilliseconds
            },
            onStep: { reachedStep, _ in
                guard reachedStep == step else { return }
                // The third transaction, so that the stage has written records before.
                let isThird = occurrences.withLock { occurrences in
                    occurrences += 1
                    return occurrences == 3
                }
                if isThird { try? Self.fence(transactionalID: identity, settings: settings) }
            })
        try await eventually("all reports are handled") { stage.handledCount == 300 || stage.failure != nil }
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startOversMetric) == 1)
        await stage.stop()
        try expectModel(in: bed)
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
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        let otherMember = try Consumer(
            settings: bed.settings,
            options: ConsumerOptions(
                membership: .group(
                    bed.layout.prefix + "ingest", instanceID: identity,
                    topics: [bed.layout.name(of: .reports)])),
            name: "other", log: .silent, metrics: Metrics())
        try await eventually("the stage reports that it has lost its partitions") {
            var batch = RecordBatch()
            for event in otherMember.poll(into: &batch, waitMilliseconds: 10) {
                if case .offered(let partitions) = event {
                    try? otherMember.assignFromCommittedOffsets(partitions)
                }
            }
            return stage.readinessProblems.contains { $0.contains("were lost") } || stage.failure != nil
        }
        _ = otherMember.close()
        try await eventually("the stage is ready again") {
            stage.readinessProblems.isEmpty || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
    }

    @Test func `a stage for which the group has no partition is ready`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let stages = [
            try await Stage(bed, directory: firstDirectory.path),
            try await Stage(bed, directory: secondDirectory.path),
        ]
        try await eventually("both stages are ready") { stages.allSatisfy(\.readinessProblems.isEmpty) }
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
        let writer = try RecordWriter(on: bed)
        let stage = try await Stage(
            bed, directory: directory.path,
            { $0.sessionMilliseconds = Self.sessionMilliseconds })
        func send(_ reports: Report..., handled count: Int) async throws {
            for report in reports { writer.write(report) }
            #expect(writer.finish())
            try await eventually("\(count) reports handled") {
                stage.handledCount == count || stage.failure != nil
            }
        }
        try await send(report(.heartbeat, of: "another"), handled: 1)
        // From here the view reads nothing back, and the stage uses its overlay.
        let openTransaction = try OpenTransaction(on: bed, topic: .installations)
        try await send(report(.startToken, type: "A"), handled: 2)
        try await send(report(.startToken, type: "A"), handled: 3)
        broker.answer(.endTransaction, with: .closeConnection)
        writer.write(report(.startToken, type: "B"))
        #expect(writer.finish())
        try await eventually("the answer to the commit is lost") {
            broker.faultCount(of: .endTransaction) > 0
        }
        // After its limit the stage gives the commit up, and continues at the committed offsets with a new producer.
        try await eventually("the stage starts over") { stage.metric(Self.startOversMetric) == 1 }
        broker.answer(.endTransaction, with: .deliver)
        try openTransaction.abort()
        try await send(report(.profile), handled: 4)
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startOversMetric) == 1)
        await stage.stop()
        let rows = try TopicContent(of: .registry, in: bed).newestValues.keys.map {
            String(decoding: $0, as: UTF8.self)
        }
        let tokens = rows.filter { $0.hasPrefix("shop/u:user-of-phone/") && $0.contains("start") }
        #expect(tokens.count == 2, "\(rows)")
        try expectModel(in: bed)
    }

    /// Committed rows that are not read back are bounded in bytes. If the view lags, the stage waits, and
    /// then starts over with an empty overlay.
    @Test func `beyond the bytes of its overlay a stage waits for its view and starts over`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed)
        let stage = try await Stage(
            bed, directory: directory.path,
            {
                $0.sessionMilliseconds = Self.sessionMilliseconds
                $0.overlayBytesMax = 1000
            })
        writer.write(report(.heartbeat, of: "another"))
        #expect(writer.finish())
        try await eventually("the stage serves") { stage.handledCount == 1 || stage.failure != nil }
        let openTransaction = try OpenTransaction(on: bed, topic: .installations)
        for number in 0..<100 { writer.write(report(.startToken, of: "phone-\(number)", type: "A")) }
        #expect(writer.finish())
        try await eventually("the stage stops waiting and starts over") {
            stage.metric(Self.startOversMetric) > 0
        }
        try openTransaction.abort()
        try await eventually("all reports are handled") { stage.handledCount >= 101 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        try expectModel(in: bed)
    }

    @Test func `a view is complete only with the records behind an open transaction`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let writer = try RecordWriter(on: bed)
        func send(_ report: Report, to stage: Stage, handled count: Int) async throws {
            writer.write(report)
            #expect(writer.finish())
            try await eventually("\(count) reports handled") {
                stage.handledCount == count || stage.failure != nil
            }
        }
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        var stage = try await Stage(bed, directory: firstDirectory.path)
        try await send(report(.heartbeat, of: "another"), to: stage, handled: 1)
        // This test does not end the transaction. The cluster aborts it by its timeout.
        let openTransaction = try OpenTransaction(
            on: bed, topic: .installations, heldMilliseconds: TransactionalProducer.transactionMillisecondsMax
        )
        try await send(report(.startToken, type: "A"), to: stage, handled: 2)
        await stage.stop()
        // The new stage has no file, so it reads the view from the topic.
        stage = try await Stage(bed, directory: secondDirectory.path)
        try await send(report(.profile), to: stage, handled: 1)
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startOversMetric) == 0)
        await stage.stop()
        withExtendedLifetime(openTransaction) {}
        try expectModel(in: bed)
    }

    @Test func `a view of more than one batch is read to its end before reports flow`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let count = 25_000
        try WrittenInstallations.write((0..<count).lazy.map(writtenInstallation), to: bed)
        let writer = try RecordWriter(on: bed)
        let lastPhones = (count - 10)..<count
        for number in lastPhones { writer.write(report(.profile, of: "phone-\(number)")) }
        #expect(writer.finish())
        let stage = try await Stage(bed, directory: directory.path)
        try await eventually("all reports are handled") { stage.handledCount == 10 || stage.failure != nil }
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startOversMetric) == 0)
        await stage.stop()
        let rows = Set(
            try TopicContent(of: .registry, in: bed).newestValues.keys.map {
                String(decoding: $0, as: UTF8.self)
            })
        for number in lastPhones {
            #expect(
                rows.contains("shop/u:user-of-phone-\(number)/phone-\(number)/start:A"),
                "\(rows.sorted().prefix(4))")
        }
    }
}
