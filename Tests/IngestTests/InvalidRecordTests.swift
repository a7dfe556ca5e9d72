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
import Simulation
import Telemetry
import Testing
import Topics

/// Tests of records that the stage cannot merge as they are: they become dead letters, or go to their right partition,
/// and must not stop other records. `deploy/prove ingest-poison` runs this with a hundred thousand records.
@Suite struct InvalidRecordTests {
    @Test func `records that are not reports become dead letters, raw and with a reason, and stop nothing`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        let seed = UInt64.random(in: 0...999_999)
        var generator = ReportGenerator(installations: 100, seed: seed)
        var random = SeededGenerator(seed: seed)
        let writer = try RecordWriter(on: bed)
        let count = trialCount(base: 2000)
        for number in 0..<count {
            let report = generator.next()
            if number < InvalidRecord.examples.count {
                writer.write(key: report.key, value: InvalidRecord.examples[number])
            } else if random.number(below: 10) == 0 {
                writer.write(key: report.key, value: InvalidRecord.random(using: &random))
            } else {
                writer.write(report)
            }
        }
        #expect(writer.finish())
        let partitions = (0..<2).map { TopicPartition(bed.layout.name(of: .reports), Int32($0)) }
        try await eventually("all reports are handled", seconds: 60 + Double(count) / 500) {
            let lags = try? bed.admin.lag(of: bed.layout.prefix + "ingest", in: partitions)
            return lags?.allSatisfy { $0.recordCount == 0 && $0.committed.offset != nil } == true
                || stage.failure != nil
        }
        await stage.stop()
        #expect(stage.failure == nil)
        try expectModel(in: bed)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed)
        let reports = try TopicContent(of: .reports, in: bed)
        let model = IngestModel(reports: reports, lanes: 2, keys: nil)
        #expect(model.rejectedPositions.count >= count / 15, "seed \(seed)")
        let origins = Dictionary(
            uniqueKeysWithValues: reports.records.map { ("\($0.partition)/\($0.offset)", $0) })
        var codes = Set<String>()
        for deadLetter in deadLetters.records {
            let headers = deadLetter.headers
            let position =
                "\(headers["flotilla-dead-partition"] ?? "")/\(headers["flotilla-dead-offset"] ?? "")"
            let origin = origins[position]
            #expect(origin?.value == deadLetter.value, "seed \(seed)")
            #expect(origin?.key == deadLetter.key, "seed \(seed)")
            #expect(headers["flotilla-dead-reason"]?.isEmpty == false, "seed \(seed)")
            codes.insert(headers["flotilla-dead-code"] ?? "none")
        }
        #expect(deadLetters.deadLetterPositions == model.rejectedPositions, "seed \(seed)")
        #expect(codes.isSuperset(of: ["empty", "unknown_version", "unknown_app"]), "\(codes)")
    }

    @Test func `a report in the wrong partition is forwarded and counts once`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        let writer = try RecordWriter(on: bed)
        var report = Report(
            app: TestBed.app.id, environment: .production, installation: "p", kind: .startToken)
        report.token = String(repeating: "ab", count: 32)
        let rightPartition = Int32(Murmur2.partition(forKey: report.key.span, partitionCount: 3))
        writer.write(key: report.key, value: report.encoded(), partition: (rightPartition + 1) % 3)
        #expect(writer.finish())
        // It is handled in the wrong partition, and again in the right one.
        try await eventually("the report is in its partition") {
            stage.handledCount == 2 || stage.failure != nil
        }
        await stage.stop()
        #expect(stage.metric("flotilla_ingest_forwarded_total") == 1)
        #expect(stage.metric("flotilla_ingest_records_total{outcome=\"merged\"}") == 1)
        let writtenPartitions = try TopicContent(of: .reports, in: bed).records.map(\.partition)
        #expect(writtenPartitions.contains(rightPartition))
        try expectModel(in: bed)
    }

    @Test func `a row that cannot be read is named in the log at each pass of the sweep`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed, to: .installations)
        writer.write(key: Array("shop/i:damaged".utf8), value: Array("damaged".utf8), partition: 0)
        #expect(writer.finish())
        let reports = try RecordWriter(on: bed)
        reports.write(
            Report(app: TestBed.app.id, environment: .production, installation: "p", kind: .heartbeat))
        #expect(reports.finish())
        let file = open(directory.filePath(named: "log"), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        let sink = LogSink(level: .error, format: .text, descriptor: file)
        let stage = try await Stage(
            bed, directory: directory.path, log: Log(component: "ingest", sink: sink),
            { $0.sweepMilliseconds = 50 })
        try await eventually("the log names the row") {
            sink.flush()
            let log = try String(contentsOfFile: directory.filePath(named: "log"), encoding: .utf8)
            return log.contains("records of installations cannot be read") && log.contains("records=1")
        }
        await stage.stop()
        #expect(stage.failure == nil)
    }
}
