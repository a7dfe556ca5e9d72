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

/// Tests of repeated reports. A repetition is written once a day only, but its newer time counts at once, also after a
/// restart. So an event that is older than the repetition changes nothing.
@Suite struct RepetitionTests {
    /// A stage that can restart, and a writer of reports.
    private final class Fixture {
        let bed: TestBed
        let directory: TemporaryDirectory
        let writer: RecordWriter
        var stage: Stage
        /// The number of reports since the last start.
        private var sentCount = 0
        private let cluster: TestCluster

        init() async throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: 1)
            directory = try TemporaryDirectory()
            writer = try RecordWriter(on: bed)
            stage = try await Stage(bed, directory: directory.path)
        }

        func send(_ report: Report) async throws {
            writer.write(report)
            sentCount += 1
            #expect(writer.finish())
            try await eventually("report \(sentCount) is handled") {
                self.stage.handledCount == self.sentCount
            }
        }

        func restart() async throws {
            await stage.stop()
            stage = try await Stage(bed, directory: directory.path, after: stage)
            sentCount = 0
        }

        /// The number of records about installations, without those about owners of tokens.
        var installationRecordCount: Int {
            get throws {
                try TopicContent(of: .installations, in: bed).records.count { record in
                    let key = record.key ?? []
                    return !TokenOwnerRow.isKey(key.span)
                }
            }
        }
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
        let fixture = try await Fixture()
        let dayMilliseconds: Int64 = 86_400_000
        // A refusal counts for one second after the time that APNs gives.
        let refusalMilliseconds: Int64 = 1500
        let startedAt = WallTime.now().milliseconds
        try await fixture.send(report(.startToken))
        let firstReportAt = try #require(try TopicContent(of: .reports, in: fixture.bed).records.last)
            .timestamp
        try await eventually("a later time comes") {
            WallTime.now().milliseconds > firstReportAt + refusalMilliseconds
        }
        for _ in 0..<2 { try await fixture.send(report(.startToken)) }
        let isStillSameDay = startedAt / dayMilliseconds == WallTime.now().milliseconds / dayMilliseconds
        if isStillSameDay {
            #expect(
                try fixture.installationRecordCount == 1, "a repetition was written on the same day")
        }
        if restarts { try await fixture.restart() }
        let rows = try fixture.registry
        #expect(rows.count == 1)
        try await fixture.send(report(.unregister, happened: firstReportAt + 1))
        #expect(try fixture.registry.keys == rows.keys, "unregistered before the token was repeated")
        try await fixture.send(refusal(of: hash, at: firstReportAt))
        #expect(try fixture.registry.keys == rows.keys, "refused before the token was repeated")
        let refusedAt = WallTime.now().milliseconds
        try await fixture.send(refusal(of: hash, at: refusedAt))
        #expect(try fixture.registry.isEmpty, "refused after the token was repeated")
        try await eventually("a time after the refusal comes") {
            WallTime.now().milliseconds > refusedAt + refusalMilliseconds
        }
        try await fixture.send(report(.startToken))
        await fixture.stage.stop()
        #expect(fixture.stage.failure == nil)
        try expectModel(in: fixture.bed)
    }
}
