internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Insight
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Members
internal import ProcessTesting
internal import Telemetry
internal import Topics

/// A measurement of insight: it reads receipts from Kafka and writes them to its files. The broker is a separate
/// process. The processor time includes all threads of this process, also of the Kafka client.
enum InsightBenchmark {
    /// The wanted jobs per second of processor time.
    private static let rateWanted = 100_000.0

    private struct Options {
        var jobs = 4_000_000
        /// The number of jobs in one receipt.
        var jobsPerReceipt = 100
        var rounds = 3
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--jobs": jobs = number
                case "--per-receipt": jobsPerReceipt = min(number, SheetHead.jobsMax)
                case "--rounds": rounds = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }

        var receiptCount: Int { max(1, jobs / jobsPerReceipt) }
    }

    static func run(arguments: [String]) throws {
        if let backlog = ReceiptBacklog(childArguments: arguments) { return try backlog.write() }
        let options = try Options(parsing: arguments)
        let cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .broker)
        defer { cluster.stop() }
        let brokers = cluster.brokers
        print(
            "insight: \(grouped(Double(options.receiptCount))) receipts of \(options.jobsPerReceipt) jobs each, of "
                + "\(ReceiptBacklog.sendCount) sends, over \(TopicLayout.lanesDefault) partitions")
        var rates: [Double] = []
        for round in 1...options.rounds {
            let result = try measureBacklog(options: options, brokers: brokers)
            rates.append(result.perCoreSecond)
            print(
                "  round \(round): \(grouped(result.perSecond)) jobs a second, "
                    + "\(grouped(result.perCoreSecond)) a core-second, \(result.diskBytesPerJob) bytes of "
                    + "disk a job, \(result.memoryMiB) MiB of own memory; the slowest report of a send took "
                    + "\(Int(result.slowestReportMilliseconds.rounded(.up))) ms, the slowest look for a user's pushes "
                    + "\(Int(result.slowestSearchMilliseconds.rounded(.up))) ms")
        }
        print("  median: \(grouped(rates.median)) jobs a core-second; \(grouped(rateWanted)) wanted")
    }

    private struct RoundResult {
        var perSecond: Double
        var perCoreSecond: Double
        var diskBytesPerJob: Int
        var memoryMiB: Int
        /// The slowest report of a send.
        var slowestReportMilliseconds: Double
        /// The slowest search for a user's pushes.
        var slowestSearchMilliseconds: Double
    }

    /// Measures the time to process a backlog that exists before the stage starts.
    private static func measureBacklog(options: Options, brokers: [String]) throws -> RoundResult {
        let bed = try TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        try ReceiptBacklog(
            layout: bed.layout, brokers: bed.settings.brokers, receiptCount: options.receiptCount,
            jobsPerReceipt: options.jobsPerReceipt
        ).writeInChildProcess()
        let directory = try BenchmarkDirectory()
        let metrics = Metrics()
        let memory = PrivateMemorySampler()
        let service = InsightService(InsightSettings(), in: try bed.environment(under: directory.path))
        try runBlocking {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in print("insight ended: \(error)") })
        }
        let enteredCounter = metrics.counter(
            "flotilla_insight_records_total", help: "records, by topic and outcome",
            labels: ["topic": "receipts", "outcome": "entered"])
        // The measurement begins with the first batch, so that the start of the stage does not count.
        while enteredCounter.value == 0 { usleep(1000) }
        let receiptsAtStart = enteredCounter.value
        let usage = try Usage.measure {
            let deadline = Instant.now().advanced(byMilliseconds: 300_000)
            while enteredCounter.value < options.receiptCount {
                guard Instant.now() < deadline else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
        }
        let reportMilliseconds = try measureSlowestQuery(of: service, kind: .report, count: 50) {
            ReceiptBacklog.sendID(number: $0 % ReceiptBacklog.sendCount)
        }
        // These users have no pushes, so a search passes over all recipient hashes of a lane.
        let searchMilliseconds = try measureSlowestQuery(of: service, kind: .user, count: 20) {
            "nobody-\($0)"
        }
        try runBlocking { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }
        let jobs = Double((options.receiptCount - receiptsAtStart) * options.jobsPerReceipt)
        return RoundResult(
            perSecond: jobs / usage.seconds, perCoreSecond: jobs / usage.processorSeconds,
            diskBytesPerJob: diskBytes(under: directory.path)
                / (options.receiptCount * options.jobsPerReceipt),
            memoryMiB: memory.stop(), slowestReportMilliseconds: reportMilliseconds,
            slowestSearchMilliseconds: searchMilliseconds)
    }

    /// Asks a number of queries one after the other, and returns the milliseconds of the slowest.
    private static func measureSlowestQuery(
        of service: InsightService, kind: InsightQuery.Kind, count: Int,
        id: @escaping @Sendable (Int) -> String
    ) throws -> Double {
        try runBlocking {
            var slowestMilliseconds = 0.0
            for number in 0..<count {
                let start = Instant.now()
                _ = await service.answer(InsightQuery(kind, app: "shop", id: id(number)))
                slowestMilliseconds = max(slowestMilliseconds, Instant.now().seconds(since: start) * 1_000)
            }
            return slowestMilliseconds
        }
    }

    /// Returns the allocated bytes of all files. Sparse files allocate less than their length.
    private static func diskBytes(under directory: String) -> Int {
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.reduce(0) { sum, name in
            var status = stat()
            guard unsafe stat(directory + "/" + name, &status) == 0 else { return sum }
            // The unit of `st_blocks` is always 512 bytes.
            return sum + status.st_blocks * 512
        }
    }
}
