import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import Testing
import Topics

/// One partition of `registry` takes no records. Only the reports that write to it wait.
@Suite struct UnavailablePartitionTests {
    private static let lanes = 4

    private func report(_ number: Int, of installation: String) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: installation, kind: .startToken)
        report.attributesType = "Match"
        report.token = NumberedToken.hex(ofNumber: number)
        return report
    }

    /// Returns installations whose reports are in the partition. The tokens of a phone without a user are in the lane
    /// of the same number, because both keys name the installation.
    private func installations(inPartition partition: Int, count: Int) -> [String] {
        let candidates = (0..<10_000).lazy.map { "phone-\($0)" }.filter { installation in
            let key = report(0, of: installation).key
            return Murmur2.partition(forKey: key.span, partitionCount: Self.lanes) == partition
        }
        return Array(candidates.prefix(count))
    }

    @Test func `ingest merges the reports that write to other partitions`() async throws {
        let unavailable = UnavailablePartitions()
        let cluster = try TestCluster(injecting: unavailable)
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        unavailable.refuse(bed.layout.name(of: .registry), partition: 2)
        let writer = try RecordWriter(on: bed)
        let reportsPerPartition = 10
        var reportCount = 0
        for partition in 0..<Self.lanes {
            let phones = installations(inPartition: partition, count: reportsPerPartition)
            for phone in phones {
                reportCount += 1
                writer.write(report(reportCount, of: phone))
            }
        }
        #expect(writer.finish())
        #expect(reportCount == Self.lanes * reportsPerPartition)
        let otherReportCount = (Self.lanes - 1) * reportsPerPartition
        try await eventually("the other reports are merged") {
            stage.handledCount >= otherReportCount || stage.failure != nil
        }
        try await eventually("the stage names the partition") {
            stage.readinessProblems.contains { $0.contains(bed.layout.name(of: .registry) + "/2") }
        }
        #expect(stage.handledCount == otherReportCount)
        unavailable.acceptAll()
        try await eventually("all reports are merged") {
            stage.handledCount == reportCount || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        #expect(try TopicContent(of: .registry, in: bed).newestValues.count == reportCount)
        try expectModel(in: bed)
    }
}
