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

/// A stage whose clock differs from the cluster's destroys nothing, reports the difference, and continues by
/// itself.
@Suite struct WrongClockTests {
    private static let day: Int64 = 86_400_000

    private final class Life: Sendable {
        let bed: TestBed
        let directory: TemporaryDirectory
        let ahead = TracedLock<Int64>(0)
        private let cluster: TestCluster
        private let sent = TracedLock(0)

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

        /// Sends reports of phones with a start token and an activity each. The activity lives for hours.
        func send(phones: Range<Int>) throws {
            let sender = try RecordWriter(on: bed)
            for phone in phones {
                var report = Report(
                    app: TestBed.app.id, environment: .production, installation: "phone-\(phone)",
                    kind: .startToken)
                report.attributesType = "Match"
                report.token = String(repeating: "ab", count: 30) + String(1000 + phone)
                sender.write(report)
                report = Report(
                    app: TestBed.app.id, environment: .production, installation: "phone-\(phone)",
                    kind: .updateToken)
                (report.attributesType, report.activity, report.group) = ("Match", "a\(phone)", "m")
                report.token = String(repeating: "cd", count: 30) + String(1000 + phone)
                sender.write(report)
            }
            #expect(sender.finish())
        }

        var rows: Int { get throws { try TopicContent(of: .registry, in: bed).newestValues.count } }
        var letters: Int { get throws { try TopicContent(of: .deadLetters, in: bed).records.count } }
    }

    private func handled(_ count: Int, by stage: Stage) async throws {
        try await eventually("\(count) reports handled") { stage.handled == count || stage.failure != nil }
        #expect(stage.failure == nil)
    }

    private func doubts(_ stage: Stage, _ words: String) async throws {
        try await eventually("the stage reports which clock is \(words)") {
            stage.obstacles.contains { $0.contains("clock of this machine") && $0.contains(words) }
        }
    }

    @Test(arguments: [5, 6, 24 * 60])
    func `a clock that is behind rejects no reports`(minutes: Int64) async throws {
        let life = try Life()
        try life.send(phones: 0..<10)
        let stage = try await life.start(ahead: -minutes * 60_000)
        try await doubts(stage, "behind")
        #expect(stage.handled == 0)
        life.set(ahead: 0)
        try await handled(20, by: stage)
        try await eventually("the stage is ready") { stage.obstacles.isEmpty }
        await stage.stop()
        #expect(try life.letters == 0)
        try judge(life.bed)
    }

    @Test(arguments: [1, 8, 60])
    func `a clock that is ahead expires nothing and rejects no reports`(days: Int64) async throws {
        let life = try Life()
        try life.send(phones: 0..<10)
        // The reports that exist could really be that old. They are merged before the wrong clock shows.
        let stage = try await life.start(ahead: days * Self.day)
        try await handled(20, by: stage)
        try life.send(phones: 10..<11)
        try await doubts(stage, "ahead of")
        #expect(stage.metric("flotilla_ingest_swept_rows_total") == 0)
        #expect(try life.rows >= 20)
        life.set(ahead: 0)
        try await handled(22, by: stage)
        try await eventually("the stage is ready") { stage.obstacles.isEmpty }
        await stage.stop()
        #expect(try life.letters == 0)
        try judge(life.bed)
    }

    @Test(arguments: [-Self.day, Self.day, 8 * Self.day])
    func `a clock that goes wrong later stops the sweep before it expires anything`(
        ahead: Int64
    ) async throws {
        let life = try Life()
        let stage = try await life.start(ahead: 0)
        try await eventually("the stage is ready") { stage.obstacles.isEmpty }
        try life.send(phones: 0..<10)
        try await handled(20, by: stage)
        life.set(ahead: ahead)
        try life.send(phones: 10..<20)
        try await doubts(stage, ahead < 0 ? "behind" : "ahead of")
        #expect(stage.metric("flotilla_ingest_swept_rows_total") == 0)
        life.set(ahead: 0)
        try await handled(40, by: stage)
        await stage.stop()
        #expect(try life.letters == 0)
        try judge(life.bed)
    }
}
