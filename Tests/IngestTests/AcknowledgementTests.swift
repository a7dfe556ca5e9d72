import Broker
import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import RecordFormat
import Testing
import Topics

/// Tests of the records that the stage writes outside its transaction: dead letters, and reports that it forwards to
/// their right partition. The stage must wait for their acknowledgement before it commits the offset. Otherwise a crash
/// could lose a report.
@Suite struct AcknowledgementTests {
    /// The stage's warning when such a record is not acknowledged.
    private static let failureMessage = "records outside the transaction could not be written"

    /// A record that a batch writes outside its transaction.
    enum OutsideRecord: CaseIterable { case deadLetter, forwarded }

    /// Writes a report that causes a record outside the transaction.
    private func sendReport(causing kind: OutsideRecord, to bed: TestBed) throws {
        let writer = try RecordWriter(on: bed)
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "p", kind: .startToken)
        report.token = String(repeating: "ab", count: 32)
        switch kind {
        case .deadLetter: writer.write(key: report.key, value: Array("not JSON".utf8))
        case .forwarded:
            let rightPartition = Int32(
                Murmur2.partition(forKey: report.key.span, partitionCount: bed.layout.lanes))
            let wrongPartition = (rightPartition + 1) % Int32(bed.layout.lanes)
            writer.write(key: report.key, value: report.encoded(), partition: wrongPartition)
        }
        #expect(writer.finish())
    }

    /// Returns the sum of the group's committed offsets over all partitions, which is the number of committed reports:
    /// these writers use no transactions, so each offset is a report.
    private func committedCount(in bed: TestBed) throws -> Int64 {
        let partitions = (0..<Int32(bed.layout.lanes)).map {
            TopicPartition(bed.layout.name(of: .reports), $0)
        }
        return try bed.admin.committedOffsets(by: bed.layout.prefix + "ingest", in: partitions).reduce(0) {
            $0 + ($1.offset ?? 0)
        }
    }

    private func startProcess(on bed: TestBed, in directory: TemporaryDirectory) throws -> StageProcess {
        try StageProcess(
            .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
    }

    @Test(arguments: OutsideRecord.allCases)
    func `a missing acknowledgement leaves the offset unchanged`(kind: OutsideRecord) async throws {
        let broker = try FaultyBroker()
        let bed = try TestBed(brokers: broker.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        try sendReport(causing: kind, to: bed)
        // The process is the only writer, and a transaction without records produces nothing. So every dropped request
        // is the record outside the transaction.
        broker.answer(.produce, with: .drop)
        let killed = try startProcess(on: bed, in: directory)
        try await killed.process.waitForOutput(containing: Self.failureMessage)
        killed.kill()
        _ = try await killed.process.exitStatus()
        #expect(broker.faultCount(of: .produce) > 0)
        #expect(try committedCount(in: bed) == 0)
        broker.answer(.produce, with: .deliver)
        let successor = try startProcess(on: bed, in: directory)
        try await eventually("the report is a dead letter or a registry row") {
            switch kind {
            case .deadLetter: try !TopicContent(of: .deadLetters, in: bed).records.isEmpty
            case .forwarded: try TopicContent(of: .registry, in: bed).newestValues.count == 1
            }
        }
        try await eventually("the report is committed") { try committedCount(in: bed) > 0 }
        successor.stop()
        _ = try await successor.process.exitStatus()
    }

    @Test func `dead letters without a topic leave the offset unchanged`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let process = try startProcess(on: bed, in: directory)
        let writer = try RecordWriter(on: bed)
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "p", kind: .heartbeat)
        report.os = "18.2"
        writer.write(report)
        #expect(writer.finish())
        try await eventually("the stage serves") { try committedCount(in: bed) == 1 }
        _ = try bed.admin.deleteTopics([bed.layout.name(of: .deadLetters)])
        try sendReport(causing: .deadLetter, to: bed)
        // A later commit without the dead letter would leave no dead letter for the end of this test.
        try await process.process.waitForOutput(containing: Self.failureMessage)
        #expect(try committedCount(in: bed) == 1)
        try await eventually("the topic exists again") {
            _ = try? bed.layout.create(on: bed.admin)
            return try bed.layout.check(on: bed.admin).isEmpty
        }
        try await eventually("the dead letter is written, and then its offset") {
            try committedCount(in: bed) == 2
        }
        process.stop()
        _ = try await process.process.exitStatus()
        #expect(
            try TopicContent(of: .deadLetters, in: bed).records.contains {
                $0.value == Array("not JSON".utf8)
            })
    }
}
