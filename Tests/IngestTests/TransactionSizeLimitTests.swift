import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import Testing
import Topics

/// Tests of the size of a transaction. A transaction ends when it has written a number of records, and after a failure
/// the next one takes half as many reports.
@Suite struct TransactionSizeLimitTests {
    private static let phoneCount = 20
    private static let typesPerPhone = 10

    private func report(_ phone: Int, _ kind: Report.Kind) -> Report {
        Report(app: TestBed.app.id, environment: .production, installation: "phone-\(phone)", kind: kind)
    }

    /// Sends the reports of phones with a start token for each of many types.
    private func sendTokens(to writer: RecordWriter) {
        for phone in 0..<Self.phoneCount {
            for type in 0..<Self.typesPerPhone {
                var report = report(phone, .startToken)
                report.attributesType = "Type\(type)"
                report.token = String(repeating: eightDigits(of: phone * 100 + type), count: 8)
                writer.write(report)
            }
        }
    }

    private func eightDigits(of number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    @Test func `logins that rewrite every row are split into several transactions with the right result`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed)
        sendTokens(to: writer)
        for phone in 0..<Self.phoneCount {
            var report = report(phone, .profile)
            report.user = "user-\(phone)"
            writer.write(report)
        }
        #expect(writer.finish())
        let recordsMax = 50
        let stage = try await Stage(bed, directory: directory.path, { $0.outputRecordsMax = recordsMax })
        let sentCount = writer.sentCount
        try await eventually("all reports are handled") {
            stage.handledCount == sentCount || stage.failure != nil
        }
        #expect(stage.failure == nil)
        let writtenRecords = ["installations", "registry", "events"].reduce(0.0) {
            $0 + stage.metric("flotilla_ingest_produced_total{topic=\"\($1)\"}")
        }
        let transactions = stage.metric("flotilla_ingest_batch_seconds_count")
        await stage.stop()
        // A login writes each row under both recipients, a profile, the installation and an event.
        let recordsPerLogin = 2 * (Self.typesPerPhone + 1) + 2
        #expect(
            writtenRecords / transactions <= Double(recordsMax + recordsPerLogin),
            "\(writtenRecords) records in \(transactions) transactions")
        #expect(transactions >= 10)
        try expectModel(in: bed)
    }

    @Test func `after a failed transaction the next one takes half as many reports`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed)
        sendTokens(to: writer)
        #expect(writer.finish())
        let identity = try bed.environment(under: directory.path).identity(of: IngestService.name)
        // The number of reports in the failed transaction, and the number of handled reports before each transaction.
        let observed = TracedLock<(failedReports: Int, handledBefore: [Int])>((0, []))
        let kafkaSettings = bed.settings
        let stage = try await Stage(
            bed, directory: directory.path,
            onStep: { step, metrics in
                switch step {
                case .transactionBegun:
                    observed.withLock { $0.handledBefore.append(metrics.handledCount) }
                case .eventsSent:
                    guard observed.withLock({ $0.failedReports == 0 }) else { return }
                    observed.withLock {
                        $0.failedReports = Int(metrics.value("flotilla_ingest_in_flight"))
                    }
                    // Another producer takes the transactional id, so that the open transaction is not committed.
                    let otherProducer = try? TransactionalProducer(
                        settings: kafkaSettings, transactionalID: identity, name: "other", log: .silent,
                        metrics: Metrics())
                    try? otherProducer?.initialize()
                default: break
                }
            })
        let sentCount = writer.sentCount
        try await eventually("all reports are handled") {
            stage.handledCount == sentCount || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let (failedReports, handledBefore) = observed.withLock { $0 }
        // The first transaction is refused, the second commits, and the third shows the size of the second.
        try #require(handledBefore.count >= 3, "\(handledBefore)")
        #expect(handledBefore.prefix(2) == [0, 0], "\(handledBefore)")
        let reportsInSecond = handledBefore[2]
        #expect(failedReports > 1)
        #expect(reportsInSecond > 0)
        #expect(reportsInSecond <= failedReports / 2, "\(failedReports) failed")
        try expectModel(in: bed)
    }
}
