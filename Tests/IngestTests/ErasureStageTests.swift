import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import KafkaTesting
import ProcessTesting
import Testing
import Topics

/// The erasure of a user, on a real cluster.
@Suite struct ErasureStageTests {
    /// Returns a report of a start token, with a login and a tag.
    private func startTokenReport(ofPhone number: Int, user: String) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "phone-\(number)", kind: .startToken)
        report.user = user
        report.tags = ["vip"]
        report.token = String(repeating: "ab", count: 30) + String(1000 + number)
        return report
    }

    @Test func `an erased user disappears from all partitions at once, and other users stay`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed)
        let (phonesOfAnna, phones) = (20, 30)
        for number in 0..<phones {
            let user = number < phonesOfAnna ? "anna" : "ben"
            writer.write(startTokenReport(ofPhone: number, user: user))
        }
        var profile = Report(app: TestBed.app.id, profileOf: "anna")
        profile.tags = ["vip"]
        writer.write(profile)
        #expect(writer.finish())
        let stage = try await Stage(bed, directory: directory.path)
        /// Returns the key and the value of each row.
        func rows(of topic: TopicName) throws -> [String] {
            try TopicContent(of: topic, in: bed).newestValues.map {
                "\(String(decoding: $0.key, as: UTF8.self)) \(String(decoding: $0.value, as: UTF8.self))"
            }
        }
        // A token and a profile for each phone, and the profile of the user.
        let rowsOfAnna = 2 * phonesOfAnna + 1
        try await eventually("all rows exist") {
            try rows(of: .registry).count { $0.contains("u:anna") } == rowsOfAnna
        }
        writer.write(Report(app: TestBed.app.id, erasing: "anna"))
        #expect(writer.finish())
        try await eventually("all rows of anna are deleted") {
            try rows(of: .registry).allSatisfy { !$0.contains("anna") }
                && rows(of: .installations).allSatisfy { !$0.contains("anna") || $0.contains("\"erasedAt\"") }
        }
        let erasedInstallations = stage.metric("flotilla_ingest_erased_installations_total")
        #expect(Int(erasedInstallations) == phonesOfAnna, "no installation waits for the sweep")
        #expect(try rows(of: .registry).count { $0.contains("u:ben") } == 2 * (phones - phonesOfAnna))
        // A phone that logs in again is known again.
        writer.write(startTokenReport(ofPhone: 0, user: "anna"))
        #expect(writer.finish())
        try await eventually("the new login has rows") {
            try rows(of: .registry).count { $0.contains("u:anna") } == 2
        }
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(try TopicContent(of: .deadLetters, in: bed).records.isEmpty)
    }
}
