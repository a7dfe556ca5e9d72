internal import Foundation
internal import Glibc
internal import Ingest
internal import IngestTesting
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

/// A measurement of reports from Kafka to Kafka: read, merged, committed in transactions, and read back into
/// the views. The broker is a separate process. The processor time of this process counts, with all
/// threads of the Kafka client.
enum IngestBenchmark {
    private static let target = 80_000.0

    private struct Options {
        var reports = 400_000
        var installations = 100_000
        var rounds = 3
        var batchRecordsMax = IngestSettings().batchRecordsMax
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var arguments = arguments
            brokers = try BootstrapOption.removeBrokers(from: &arguments)
            var rest = arguments[...]
            while let name = rest.popFirst() {
                guard let value = rest.popFirst(), let number = Int(value), number > 0 else {
                    throw BenchmarkFailure("\(name) needs a number above 0")
                }
                switch name {
                case "--reports": reports = number
                case "--installations": installations = number
                case "--rounds": rounds = number
                case "--batch": batchRecordsMax = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --reports, --installations, --rounds, --batch, --bootstrap"
                    )
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        let peer = options.brokers == nil ? try BrokerProcess(.broker, shape: shape) : nil
        defer { peer?.stop() }
        let brokers = options.brokers ?? [peer!.address]
        print(
            "ingest: \(grouped(Double(options.reports))) reports of \(grouped(Double(options.installations))) "
                + "installations over 12 partitions, transactions of up to \(options.batchRecordsMax)")
        print("of 100 reports: \(ReportGenerator.shares)")
        var rates: [(perSecond: Double, perCoreSecond: Double)] = []
        for round in 1...options.rounds {
            let result = try measureBacklog(options: options, brokers: brokers)
            rates.append(result)
            print(
                "  round \(round): \(grouped(result.perSecond)) reports a second, "
                    + "\(grouped(result.perCoreSecond)) a core-second")
        }
        let median = rates.map(\.perCoreSecond).median
        print("  median: \(grouped(median)) reports a core-second; \(grouped(target)) wanted")
    }

    /// Measures the time to process a backlog that exists before the stage starts.
    private static func measureBacklog(
        options: Options, brokers: [String]
    ) throws -> (perSecond: Double, perCoreSecond: Double) {
        let bed = try TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        let sender = try RecordWriter(on: bed)
        var mix = ReportGenerator(installations: options.installations, seed: 1)
        for _ in 0..<options.reports { sender.write(mix.next()) }
        guard sender.finish() else { throw BenchmarkFailure("the reports were not stored") }
        let directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let metrics = Metrics()
        var settings = IngestSettings()
        settings.batchRecordsMax = options.batchRecordsMax
        let service = IngestService(settings, in: try bed.environment(under: directory))
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
        while handledCount() == 0 { usleep(1000) }
        let first = handledCount()
        var last = 0
        let usage = try Usage.measure {
            let limit = Instant.now().advanced(byMilliseconds: 300_000)
            while handledCount() < options.reports {
                guard Instant.now() < limit else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
            last = handledCount()
        }
        let count = Double(last - first)
        return (count / usage.seconds, count / usage.processorSeconds)
    }
}
