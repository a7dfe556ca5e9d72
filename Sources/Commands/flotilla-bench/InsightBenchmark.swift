internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import Insight
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Members
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A measurement of receipts from Kafka into insight's files. The broker is a separate process. The processor
/// time of this process counts, with all threads of the Kafka client.
enum InsightBenchmark {
    private static let target = 100_000.0
    private static let sendCount = 20
    /// The time of the receipts. It must be less than a week ago, because insight deletes older data.
    private static let acceptedAt = WallTime.now().milliseconds - 3_600_000

    private struct Options {
        var jobs = 4_000_000
        /// The number of jobs in one receipt.
        var jobsPerReceipt = 100
        var rounds = 3
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
                case "--jobs": jobs = number
                case "--per-receipt": jobsPerReceipt = min(number, SheetHead.jobsMax)
                case "--rounds": rounds = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --jobs, --per-receipt, --rounds, --bootstrap")
                }
            }
        }

        var receiptCount: Int { max(1, jobs / jobsPerReceipt) }
    }

    /// The argument of a separate process that writes the receipts, so that its memory does not count as the
    /// stage's.
    private static let writeReceiptsArgument = "write-receipts"

    static func run(arguments: [String]) throws {
        if arguments.first == writeReceiptsArgument, arguments.count == 5, let jobs = Int(arguments[3]),
            let perReceipt = Int(arguments[4])
        {
            var options = try Options(parsing: [])
            (options.jobs, options.jobsPerReceipt) = (jobs, perReceipt)
            let layout = TopicLayout(prefix: arguments[2], lanes: TopicLayout.lanesDefault)
            return try writeReceipts(
                layout: layout, brokers: arguments[1].split(separator: ",").map(String.init), options: options
            )
        }
        let options = try Options(parsing: arguments)
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        let peer = options.brokers == nil ? try BrokerProcess(.broker, shape: shape) : nil
        defer { peer?.stop() }
        let brokers = options.brokers ?? [peer!.address]
        print(
            "insight: \(grouped(Double(options.receiptCount))) receipts of \(options.jobsPerReceipt) jobs each, of "
                + "\(sendCount) sends, over \(TopicLayout.lanesDefault) partitions")
        var rates: [Double] = []
        for round in 1...options.rounds {
            let result = try measureBacklog(options: options, brokers: brokers)
            rates.append(result.perCoreSecond)
            print(
                "  round \(round): \(grouped(result.perSecond)) jobs a second, "
                    + "\(grouped(result.perCoreSecond)) a core-second, \(result.diskBytesPerJob) bytes of "
                    + "disk a job, \(result.memoryMiB) MiB of own memory; the slowest report of a send took "
                    + "\(Int(result.reportMilliseconds.rounded(.up))) ms, the slowest look for a user's pushes "
                    + "\(Int(result.userMilliseconds.rounded(.up))) ms")
        }
        print("  median: \(grouped(rates.median)) jobs a core-second; \(grouped(target)) wanted")
    }

    private struct RoundResult {
        var perSecond: Double
        var perCoreSecond: Double
        var diskBytesPerJob: Int
        var memoryMiB: Int
        /// The time of the slowest report.
        var reportMilliseconds: Double
        var userMilliseconds: Double
    }

    /// Measures the time to process a backlog that exists before the stage starts.
    private static func measureBacklog(options: Options, brokers: [String]) throws -> RoundResult {
        let bed = try TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        try writeReceiptsInChildProcess(to: bed, options: options)
        let directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let metrics = Metrics()
        let memory = PrivateMemorySampler()
        let service = InsightService(InsightSettings(), in: try bed.environment(under: directory))
        try runBlocking {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in print("insight ended: \(error)") })
        }
        let enteredCounter = metrics.counter(
            "flotilla_insight_records_total", help: "records, by topic and outcome",
            labels: ["topic": "receipts", "outcome": "entered"])
        while enteredCounter.value == 0 { usleep(1000) }
        let first = enteredCounter.value
        let usage = try Usage.measure {
            let limit = Instant.now().advanced(byMilliseconds: 300_000)
            while enteredCounter.value < options.receiptCount {
                guard Instant.now() < limit else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
        }
        let queryMilliseconds = try measureQueries(of: service)
        try runBlocking { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }
        let jobs = Double((options.receiptCount - first) * options.jobsPerReceipt)
        return RoundResult(
            perSecond: jobs / usage.seconds, perCoreSecond: jobs / usage.processorSeconds,
            diskBytesPerJob: diskBytes(under: directory) / (options.receiptCount * options.jobsPerReceipt),
            memoryMiB: memory.stop(), reportMilliseconds: queryMilliseconds.report,
            userMilliseconds: queryMilliseconds.user)
    }

    /// Returns the slowest of several queries. The users have no pushes, so a query passes over all marks of
    /// a lane.
    private static func measureQueries(of service: InsightService) throws -> (report: Double, user: Double) {
        func measureSlowest(
            of count: Int, kind name: InsightQuery.Kind, id: @escaping @Sendable (Int) -> String
        )
            throws
            -> Double
        {
            let slowest = TracedLock(0.0)
            try runBlocking {
                for number in 0..<count {
                    let began = Instant.now()
                    _ = await service.answer(InsightQuery(name, app: "shop", id: id(number)))
                    let took = Instant.now().seconds(since: began) * 1000
                    slowest.withLock { $0 = max($0, took) }
                }
            }
            return slowest.withLock { $0 }
        }
        return (
            try measureSlowest(of: 50, kind: .report) { "send-of-the-bench-\($0 % sendCount)" },
            try measureSlowest(of: 20, kind: .user) { "nobody-\($0)" }
        )
    }

    private static func diskBytes(under directory: String) -> Int {
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.reduce(0) { sum, name in
            var status = stat()
            guard unsafe stat(directory + "/" + name, &status) == 0 else { return sum }
            return sum + status.st_blocks * 512
        }
    }

    private static func writeReceiptsInChildProcess(to bed: TestBed, options: Options) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [
            "insight", writeReceiptsArgument, bed.settings.brokers.joined(separator: ","), bed.layout.prefix,
            String(options.jobs), String(options.jobsPerReceipt),
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkFailure("the receipts were not written") }
    }

    /// Writes receipts as senders do: nearly all jobs of a sheet in one part, with their recipients.
    private static func writeReceipts(layout: TopicLayout, brokers: [String], options: Options) throws {
        let producer = try Producer(
            settings: KafkaSettings(brokers: brokers), name: "receipts", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: layout.name(of: .receipts))
        var deliveries: [Delivery] = []
        var stored = 0
        for number in 0..<options.receiptCount {
            let lane = Int32(number % layout.lanes)
            let receipt = makeReceipt(number: number, lane: lane, jobs: options.jobsPerReceipt)
            let value = receipt.encoded()
            let lines = Array(
                (0..<options.jobsPerReceipt).map { line in
                    let phone = number * options.jobsPerReceipt + line
                    return
                        "7f3c2a90-\(100_000_000 + phone)-5b21\tupdate:0e61d1f2-\(100_000_000 + phone)\tu:customer-\(phone)\t\(17 + phone % 3)\n"
                }.joined().utf8)
            while true {
                var headers = RecordHeaders(capacity: 1)
                headers.add(ReceiptLines.header, value: lines.span)
                let result = producer.send(
                    to: topic, partition: lane, key: nil, value: value.span, headers: &headers, tag: 0)
                if result != .full { break }
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
                stored += deliveries.count { $0.isStored }
                deliveries.removeAll(keepingCapacity: true)
            }
        }
        _ = producer.flush(withinMilliseconds: 120_000, into: &deliveries)
        stored += deliveries.count { $0.isStored }
        guard stored == options.receiptCount else { throw BenchmarkFailure("the receipts were not stored") }
    }

    private static func makeReceipt(number: Int, lane: Int32, jobs: Int) -> Receipt {
        let send = number * sendCount / 1_000 % sendCount
        let head = SheetHead(
            topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: "shop",
            environment: .production, send: "send-of-the-bench-\(send)", group: "match-42", scope: .group,
            generation: 1_795_000_000, version: 1_795_000_000 + Int64(send), event: .update,
            deadline: 1_795_030_000, acceptedAt: acceptedAt)
        var accepted = LineSet()
        for line in 0..<jobs - 1 { accepted.append(line) }
        var rejected = LineSet()
        rejected.append(jobs - 1)
        return Receipt(
            head, at: JobPosition(topic: "jobs", partition: lane, offset: Int64(number)), attempt: 1,
            writtenAt: acceptedAt + Int64(number % 60_000),
            parts: [
                Receipt.Part(.accepted, lines: accepted, status: 200),
                Receipt.Part(.rejected, lines: rejected, status: 410, reason: "Unregistered"),
            ])
    }
}
