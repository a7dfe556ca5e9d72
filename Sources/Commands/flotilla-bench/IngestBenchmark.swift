internal import Glibc
internal import Ingest
internal import IngestTesting
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

/// A measurement of ingest: it reads reports from Kafka, merges them, commits registry rows and events in
/// transactions, and reads them back into its views. The broker is a separate process. The processor time
/// includes all threads of this process, also of the Kafka client.
enum IngestBenchmark {
    /// The wanted reports per second of processor time.
    private static let rateWanted = 80_000.0

    private struct Options {
        var reports = 400_000
        var installations = 100_000
        var rounds = 3
        var batchRecordsMax = IngestSettings().batchRecordsMax
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--reports": reports = number
                case "--installations": installations = number
                case "--rounds": rounds = number
                case "--batch": batchRecordsMax = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .broker)
        defer { cluster.stop() }
        let brokers = cluster.brokers
        print(
            "ingest: \(grouped(Double(options.reports))) reports of \(grouped(Double(options.installations))) "
                + "installations over 12 partitions, transactions of up to \(options.batchRecordsMax)")
        print("of 100 reports: \(ReportGenerator.shares)")
        var rates: [WorkRate] = []
        for round in 1...options.rounds {
            let rate = try measureBacklog(options: options, brokers: brokers)
            rates.append(rate)
            print(
                "  round \(round): \(grouped(rate.perSecond)) reports a second, "
                    + "\(grouped(rate.perCoreSecond)) a core-second")
        }
        let median = rates.map(\.perCoreSecond).median
        print("  median: \(grouped(median)) reports a core-second; \(grouped(rateWanted)) wanted")
    }

    /// Measures the rate at which a backlog is processed that exists before the stage starts.
    private static func measureBacklog(options: Options, brokers: [String]) throws -> WorkRate {
        let bed = try TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        let writer = try RecordWriter(on: bed)
        var generator = ReportGenerator(installations: options.installations, seed: 1)
        for _ in 0..<options.reports { writer.write(generator.next()) }
        guard writer.finish() else { throw BenchmarkFailure("the reports were not stored") }
        let directory = try BenchmarkDirectory()
        let metrics = Metrics()
        var settings = IngestSettings()
        settings.batchRecordsMax = options.batchRecordsMax
        let service = IngestService(settings, in: try bed.environment(under: directory.path))
        try runBlocking {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in print("ingest ended: \(error)") })
        }
        defer { try? runBlocking { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) } }
        let counters = ["merged", "unchanged", "rejected"].map { outcome in
            metrics.counter(
                "flotilla_ingest_records_total", help: "reports by outcome",
                labels: ["outcome": outcome])
        }
        func handledCount() -> Int { counters.reduce(0) { $0 + $1.value } }
        // The measurement begins with the first batch, so that the start of the stage does not count.
        while handledCount() == 0 { usleep(1000) }
        let countAtStart = handledCount()
        var countAtEnd = 0
        let usage = try Usage.measure {
            let deadline = Instant.now().advanced(byMilliseconds: 300_000)
            while handledCount() < options.reports {
                guard Instant.now() < deadline else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
            countAtEnd = handledCount()
        }
        let count = Double(countAtEnd - countAtStart)
        return WorkRate(
            count: count, seconds: usage.seconds, processorSeconds: usage.processorSeconds)
    }
}
