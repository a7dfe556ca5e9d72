import CatalogRecords
import Foundation
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
import TokenSealing
import Topics

/// With sealing keys, the stage writes no token in clear text to any topic.
@Suite struct SealedReportsTests {
    private func token(_ phone: Int) -> String { String(repeating: "ab", count: 38) + String(1000 + phone) }

    private func report(_ phone: Int) -> Report {
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "phone-\(phone)",
            kind: .startToken)
        report.attributesType = "Match"
        report.token = token(phone)
        return report
    }

    private func makeKeys(in directory: TemporaryDirectory) throws -> SealingKeys {
        let path = directory.filePath(named: "keys")
        let isMade = FileManager.default.createFile(
            atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o600])
        #expect(isMade)
        return try SealingKeys(file: path)
    }

    @Test func `merged and forwarded reports and dead letters are sealed, whether they came sealed or not`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let keys = try makeKeys(in: directory)
        let writer = try RecordWriter(on: bed)
        writer.write(report(0))
        var sealedReport = report(1)
        TokenSeal(keys: keys).seal(tokenOf: &sealedReport)
        writer.write(sealedReport)
        let misplacedReport = report(2)
        let rightPartition = Int32(
            Murmur2.partition(forKey: misplacedReport.key.span, partitionCount: 3))
        writer.write(
            key: misplacedReport.key, value: misplacedReport.encoded(), partition: (rightPartition + 1) % 3)
        let incompleteReport = report(3)
        writer.write(key: incompleteReport.key, value: incompleteReport.encoded().dropLast())
        #expect(writer.finish())
        // Four reports, of which one is handled in two partitions.
        let stage = try await Stage(bed, directory: directory.path, sealingKeys: keys)
        try await eventually("all reports are handled") { stage.handledCount == 5 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        let rows = try TopicContent(of: .registry, in: bed).newestValues.values.map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(rows.count == 3)
        #expect(rows.allSatisfy { $0.contains("\"s1.") }, "\(rows)")
        let deadLetters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(deadLetters.count == 1)
        let forwarded = try TopicContent(of: .reports, in: bed).records.filter { !$0.headers.isEmpty }
        #expect(forwarded.map(\.partition) == [rightPartition])
        for record in deadLetters + forwarded {
            let text = String(decoding: record.value ?? [], as: UTF8.self)
            #expect(text.contains("s1."), "\(text)")
            #expect(!text.contains(token(2)), "\(text)")
            #expect(!text.contains(token(3)), "\(text)")
        }
    }

    @Test
    func `a record that is too large for the dead letters only when it is sealed is named there and skipped`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        // Each run of digits can be a token, and a sealed token is several times as long. So a record of 3.75 MiB is
        // too large when all its runs are sealed.
        let digits = Array(String(repeating: "ab", count: 32).utf8) + [UInt8(ascii: " ")]
        let value = Array(repeatElement(digits, count: (15 << 18) / digits.count).joined())
        var options = ProducerOptions()
        options.recordBytesMax = 16 << 20
        let producer = try Producer(
            settings: bed.settings, options: options, name: "large", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .reports))
        _ = try producer.storeRecord(action: "write a report", in: topic, key: report(0).key, value: value)
        let writer = try RecordWriter(on: bed)
        writer.write(report(1))
        #expect(writer.finish())
        let stage = try await Stage(bed, directory: directory.path, sealingKeys: makeKeys(in: directory))
        try await eventually("all reports are handled") { stage.handledCount == 2 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(deadLetters.map(\.value) == [nil])
        #expect(deadLetters.first?.headers["flotilla-dead-offset"] == "0")
        #expect(try TopicContent(of: .registry, in: bed).newestValues.count == 1)
    }
}
