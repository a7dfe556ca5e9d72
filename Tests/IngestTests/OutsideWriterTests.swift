import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import RecordFormat
import Telemetry
import Testing
import Topics

/// Reports that a writer other than the gateway puts into the topic: in a wrong partition, too large, or in
/// transactions.
@Suite struct OutsideWriterTests {
    /// A report without its token.
    private let report = {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "p", kind: .startToken)
        report.attributesType = "Match"
        return report
    }()

    @Test func `an old report that is forwarded late does not replace a newer one`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let rightPartition = Int32(Murmur2.partition(forKey: report.key.span, partitionCount: 3))
        var (oldReport, newReport) = (report, report)
        oldReport.token = String(repeating: "aa", count: 32)
        newReport.token = String(repeating: "bb", count: 32)
        let firstWriter = try RecordWriter(on: bed)
        firstWriter.write(
            key: oldReport.key, value: oldReport.encoded(), partition: (rightPartition + 1) % 3)
        #expect(firstWriter.finish())
        let writtenAt = WallTime.now()
        try await eventually("a later millisecond") {
            WallTime.now().milliseconds > writtenAt.milliseconds + 10
        }
        let secondWriter = try RecordWriter(on: bed)
        secondWriter.write(newReport)
        #expect(secondWriter.finish())
        let stage = try await Stage(bed, directory: directory.path)
        // Two reports, of which the old one is handled in two partitions.
        try await eventually("all reports are handled") { stage.handledCount == 3 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        let rows = try TopicContent(of: .registry, in: bed).newestValues.values.map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(rows.count == 1)
        #expect(rows.first?.contains(newReport.token ?? "none") == true, "\(rows)")
        try expectModel(in: bed)
    }

    @Test func `a record that is too large for any topic is named in the dead letters and skipped`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        // The record is small when compressed, so the broker accepts it.
        var options = ProducerOptions()
        options.recordBytesMax = 16 << 20
        let producer = try Producer(
            settings: bed.settings, options: options, name: "huge", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .reports))
        let hugeValue = [UInt8](repeating: UInt8(ascii: "a"), count: 9 << 20)
        _ = try producer.storeRecord(action: "write a report", in: topic, key: report.key, value: hugeValue)
        var validReport = report
        validReport.token = String(repeating: "aa", count: 32)
        let writer = try RecordWriter(on: bed)
        writer.write(validReport)
        #expect(writer.finish())
        let stage = try await Stage(bed, directory: directory.path)
        try await eventually("all reports are handled") { stage.handledCount == 2 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed).records
        try #require(deadLetters.count == 1)
        #expect(deadLetters[0].value == nil)
        #expect(deadLetters.first?.headers["flotilla-dead-code"] == "too_large")
        #expect(deadLetters.first?.headers["flotilla-dead-offset"] == "0")
        #expect(try TopicContent(of: .registry, in: bed).newestValues.count == 1)
    }

    @Test func `reports in transactions of another writer stop nothing`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let producer = try TransactionalProducer(
            settings: bed.settings, transactionalID: bed.layout.prefix + "backend", name: "backend",
            log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .reports))
        try producer.initialize()
        var report = report
        for number in 0..<5 {
            report.token = String(repeating: "a\(number)", count: 32)
            let (key, value) = (report.key, report.encoded())
            try producer.begin()
            #expect(producer.send(to: topic, partition: 0, key: key.span, value: value.span) == .queued)
            try producer.commit()
        }
        let stage = try await Stage(bed, directory: directory.path)
        try await eventually("all reports are handled") { stage.handledCount == 5 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        try expectModel(in: bed)
    }
}
