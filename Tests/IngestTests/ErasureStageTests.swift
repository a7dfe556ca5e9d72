import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import KafkaTesting
import ProcessTesting
import Testing
import Topics

@Suite struct ErasureStageTests {
    private func report(_ kind: Report.Kind, _ installation: String, user: String) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: installation, kind: kind)
        report.user = user
        report.tags = ["vip"]
        if kind == .startToken { report.token = String(repeating: "ab", count: 32) }
        return report
    }

    @Test func `an erased user disappears from the installations of all partitions, and other users stay`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let sender = try RecordWriter(on: bed)
        for number in 0..<30 {
            sender.write(report(.startToken, "phone-\(number)", user: number < 20 ? "anna" : "ben"))
        }
        var profile = Report(app: TestBed.app.id, profileOf: "anna")
        profile.tags = ["vip"]
        sender.write(profile)
        #expect(sender.finish())
        let stage = try await Stage(bed, directory: directory.path) { $0.sweepMilliseconds = 200 }
        func names(_ topic: TopicName) throws -> [String] {
            try TopicContent(of: topic, in: bed).newestValues.map {
                "\(String(decoding: $0.key, as: UTF8.self)) \(String(decoding: $0.value, as: UTF8.self))"
            }
        }
        try await eventually("all rows exist") {
            try names(.registry).count { $0.contains("u:anna") } == 41
        }
        sender.write(Report(app: TestBed.app.id, erasing: "anna"))
        #expect(sender.finish())
        try await eventually("all rows of anna are deleted") {
            try names(.registry).allSatisfy { !$0.contains("anna") }
                && names(.installations).allSatisfy { !$0.contains("anna") || $0.contains("\"erasedAt\"") }
        }
        #expect(try names(.registry).count { $0.contains("u:ben") } == 20)
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(try TopicContent(of: .deadLetters, in: bed).records.isEmpty)
    }
}
