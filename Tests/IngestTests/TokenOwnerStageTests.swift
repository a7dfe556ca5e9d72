import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import KafkaTesting
import ProcessTesting
import Testing
import Topics

/// A start token that two users report from installations in different partitions, on a real cluster.
struct TokenOwnerStageTests {
    private func report(of installation: String, user: String) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: installation, kind: .startToken)
        report.user = user
        report.token = String(repeating: "ab", count: 32)
        return report
    }

    @Test func `the newer report has the token, and the older user has no row of it`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        let writer = try RecordWriter(on: bed)
        func tokenRows() throws -> [String] {
            try TopicContent(of: .registry, in: bed).newestValues.map {
                String(decoding: $0.key, as: UTF8.self)
            }
            .filter { $0.contains("start:") }
        }
        // The installations are in all partitions, so most of them are not in the partition of the token.
        for number in 0..<6 {
            writer.write(report(of: "phone-\(number)", user: "user-\(number)"))
            #expect(writer.finish())
            try await eventually("only the newest of \(number + 1) users has the token") {
                let rows = try tokenRows()
                return rows.count == 1 && rows[0].contains("u:user-\(number)/")
            }
        }
        // An earlier installation reports the token again.
        writer.write(report(of: "phone-2", user: "user-2"))
        #expect(writer.finish())
        try await eventually("only the user of this installation has the token") {
            let rows = try tokenRows()
            return rows.count == 1 && rows[0].contains("u:user-2/")
        }
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(try TopicContent(of: .deadLetters, in: bed).records.isEmpty)
    }
}
