import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Telemetry
import Testing
import Topics

/// Tests of a stage whose clock differs from the cluster's. It must not expire or reject anything because of the wrong
/// time, must report the difference as a readiness problem, and must continue by itself when the clock is right.
@Suite struct WrongClockTests {
    private static let day: Int64 = 86_400_000

    /// A test bed for a stage whose clock the test sets.
    private final class Fixture: Sendable {
        let bed: TestBed
        let directory: TemporaryDirectory
        /// The milliseconds by which the stage's clock is ahead of the cluster's.
        let ahead = TracedLock<Int64>(0)
        private let cluster: TestCluster

        init() throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: 1)
            directory = try TemporaryDirectory()
        }

        func start(ahead milliseconds: Int64) async throws -> Stage {
            ahead.withLock { $0 = milliseconds }
            let ahead = ahead
            return try await Stage(
                bed, directory: directory.path, { $0.sweepMilliseconds = 50 },
                clock: { WallTime(milliseconds: WallTime.now().milliseconds + ahead.withLock { $0 }) })
        }

        func set(ahead milliseconds: Int64) { ahead.withLock { $0 = milliseconds } }

        /// Sends two reports of each phone: a start token, and an activity that runs for hours.
        func send(phones: Range<Int>) throws {
            let writer = try RecordWriter(on: bed)
            for phone in phones {
                var report = Report(
                    app: TestBed.app.id, environment: .production, installation: "phone-\(phone)",
                    kind: .startToken)
                report.attributesType = "Match"
                report.token = String(repeating: "ab", count: 30) + String(1000 + phone)
                writer.write(report)
                report = Report(
                    app: TestBed.app.id, environment: .production, installation: "phone-\(phone)",
                    kind: .updateToken)
                (report.attributesType, report.activity, report.group) = ("Match", "a\(phone)", "m")
                report.token = String(repeating: "cd", count: 30) + String(1000 + phone)
                writer.write(report)
            }
            #expect(writer.finish())
        }

        var rowCount: Int { get throws { try TopicContent(of: .registry, in: bed).newestValues.count } }
        var deadLetterCount: Int { get throws { try TopicContent(of: .deadLetters, in: bed).records.count } }
    }

    private func waitUntilHandled(_ count: Int, by stage: Stage) async throws {
        try await eventually("\(count) reports are handled") {
            stage.handledCount == count || stage.failure != nil
        }
        #expect(stage.failure == nil)
    }

    /// Waits until the stage reports that its clock is `ahead of` or `behind` the cluster's.
    private func waitUntilClockIsReported(_ words: String, by stage: Stage) async throws {
        try await eventually("the stage reports that its clock is \(words) the cluster's") {
            stage.readinessProblems.contains { $0.contains("clock of this machine") && $0.contains(words) }
        }
    }

    @Test(arguments: [5, 6, 24 * 60])
    func `a clock that is behind rejects no reports`(minutes: Int64) async throws {
        let fixture = try Fixture()
        try fixture.send(phones: 0..<10)
        let stage = try await fixture.start(ahead: -minutes * 60_000)
        try await waitUntilClockIsReported("behind", by: stage)
        #expect(stage.handledCount == 0)
        fixture.set(ahead: 0)
        try await waitUntilHandled(20, by: stage)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        await stage.stop()
        #expect(try fixture.deadLetterCount == 0)
        try expectModel(in: fixture.bed)
    }

    @Test(arguments: [1, 8, 60])
    func `a clock that is ahead expires nothing and rejects no reports`(days: Int64) async throws {
        let fixture = try Fixture()
        try fixture.send(phones: 0..<10)
        // The reports that exist could really be that old. They are merged before the wrong clock shows.
        let stage = try await fixture.start(ahead: days * Self.day)
        try await waitUntilHandled(20, by: stage)
        try fixture.send(phones: 10..<11)
        try await waitUntilClockIsReported("ahead of", by: stage)
        #expect(stage.metric("flotilla_ingest_swept_rows_total") == 0)
        #expect(try fixture.rowCount >= 20)
        fixture.set(ahead: 0)
        try await waitUntilHandled(22, by: stage)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        await stage.stop()
        #expect(try fixture.deadLetterCount == 0)
        try expectModel(in: fixture.bed)
    }

    @Test(arguments: [-Self.day, Self.day, 8 * Self.day])
    func `a clock that goes wrong later stops the sweep before it expires anything`(
        ahead: Int64
    ) async throws {
        let fixture = try Fixture()
        let stage = try await fixture.start(ahead: 0)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        try fixture.send(phones: 0..<10)
        try await waitUntilHandled(20, by: stage)
        fixture.set(ahead: ahead)
        try fixture.send(phones: 10..<20)
        try await waitUntilClockIsReported(ahead < 0 ? "behind" : "ahead of", by: stage)
        #expect(stage.metric("flotilla_ingest_swept_rows_total") == 0)
        fixture.set(ahead: 0)
        try await waitUntilHandled(40, by: stage)
        await stage.stop()
        #expect(try fixture.deadLetterCount == 0)
        try expectModel(in: fixture.bed)
    }
}
