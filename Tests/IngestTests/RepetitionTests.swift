import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import TokenSealing
import Topics

/// A repeated report is written once a day, but its newer time counts at once.
@Suite struct RepetitionTests {
    private final class Life {
        let bed: TestBed
        let directory: TemporaryDirectory
        let sender: RecordWriter
        var stage: Stage
        private var sent = 0
        private let cluster: TestCluster

        init() async throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: 1)
            directory = try TemporaryDirectory()
            sender = try RecordWriter(on: bed)
            stage = try await Stage(bed, directory: directory.path)
        }

        func send(_ report: Report) async throws {
            sender.write(report)
            sent += 1
            #expect(sender.finish())
            try await eventually("report \(sent) handled") { self.stage.handled == self.sent }
        }

        func restart() async throws {
            await stage.stop()
            stage = try await Stage(bed, directory: directory.path, after: stage)
            sent = 0
        }

        func records(_ topic: TopicName) throws -> Int { try TopicContent(of: topic, in: bed).records.count }
        var registry: [[UInt8]: [UInt8]] {
            get throws { try TopicContent(of: .registry, in: bed).newestValues }
        }
    }

    private let token = String(repeating: "ab", count: 32)

    private func report(_ kind: Report.Kind, happened: Int64? = nil) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "phone", kind: kind)
        report.attributesType = "MatchAttributes"
        report.eventTime = happened
        if kind == .startToken { report.token = token }
        return report
    }

    private func refusal(of hash: String, at time: Int64) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "phone", kind: .deadToken)
        report.refusal = Report.TokenRefusal(
            tokenHash: hash, entry: "start:MatchAttributes", reason: "Unregistered", invalidatedAt: time,
            dispatchedAt: time)
        return report
    }

    private var hash: String {
        String(decoding: Hex.encode(TokenSeal(keys: nil).hash(of: PushToken(hex: token)!)), as: UTF8.self)
    }

    @Test(arguments: [false, true])
    func `an event that is older than the last repetition removes nothing`(restarts: Bool) async throws {
        let life = try await Life()
        let began = WallTime.now().milliseconds
        try await life.send(report(.startToken))
        let first = try #require(try TopicContent(of: .reports, in: life.bed).records.last).timestamp
        // A refusal counts for one second after the time that APNs gives.
        try await eventually("a later time comes") { WallTime.now().milliseconds > first + 1500 }
        for _ in 0..<2 { try await life.send(report(.startToken)) }
        let isOneDay = began / 86_400_000 == WallTime.now().milliseconds / 86_400_000
        if isOneDay { #expect(try life.records(.installations) == 1, "repetitions are written once a day") }
        if restarts { try await life.restart() }
        let rows = try life.registry
        #expect(rows.count == 1)
        try await life.send(report(.unregister, happened: first + 1))
        #expect(try life.registry.keys == rows.keys, "unregistered before it was repeated")
        try await life.send(refusal(of: hash, at: first))
        #expect(try life.registry.keys == rows.keys, "refused before it was repeated")
        let refused = WallTime.now().milliseconds
        try await life.send(refusal(of: hash, at: refused))
        #expect(try life.registry.isEmpty, "refused after it was repeated")
        try await eventually("a time after the refusal comes") {
            WallTime.now().milliseconds > refused + 1500
        }
        try await life.send(report(.startToken))
        await life.stage.stop()
        #expect(life.stage.failure == nil)
        try judge(life.bed)
    }
}
