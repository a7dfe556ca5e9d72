internal import IngestTesting
internal import Lifecycle
internal import ProcessTesting

/// A measurement of fan-out's planner: it reads sends from Kafka, plans them, commits expansions in transactions
/// and reads them back into its views. The broker is a separate process. The processor time includes
/// all threads of this process: also of the Kafka client and of the writer of the sends.
enum PlannerBenchmark {
    private struct Options {
        var sends = 100_000
        var rounds = 3
        /// The number of groups. If above 0, the case with many small groups is measured instead. Half of them are
        /// private groups of one name.
        var smallGroups = 0
        /// The updates per second to small groups, and the time in which they are sent.
        var rate = 5000
        var seconds = 60
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--sends": sends = number
                case "--rounds": rounds = number
                case "--groups": smallGroups = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    /// The sends that are measured one at a time.
    private static let singleSends = 300
    /// The time limit for the restore of a planner in a separate process.
    private static let restoreMillisecondsMax = 120_000

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .broker)
        defer { cluster.stop() }
        let brokers = cluster.brokers
        if options.smallGroups > 0 { return try measureSmallGroups(options: options, brokers: brokers) }
        try measurePrivateGroups(options: options, brokers: brokers)
        try measureSingleSends(brokers: brokers)
    }

    // MARK: Private groups

    /// Measures one update for each of many private groups. Each round has a new planner and new topics.
    private static func measurePrivateGroups(options: Options, brokers: [String]) throws {
        print("planner: \(grouped(Double(options.sends))) updates of as many private groups, 12 partitions")
        var rates: [Double] = []
        for round in 1...options.rounds {
            let planner = try PlannerUnderTest(brokers: brokers)
            let usage = try planner.measureBacklog(count: options.sends)
            let rate = Double(options.sends) / usage.processorSeconds
            rates.append(rate)
            print(
                "  round \(round): \(grouped(Double(options.sends) / usage.seconds)) sends a second, "
                    + "\(grouped(rate)) a core-second")
            try planner.stop()
        }
        print("  median: \(grouped(rates.median)) sends a core-second")
    }

    private static func measureSingleSends(brokers: [String]) throws {
        let planner = try PlannerUnderTest(brokers: brokers)
        try planner.waitUntilReady()
        let latencies = try planner.traffic.measureOneByOne(count: singleSends)
        print("  one send at a time, from the call that sends it to its visible expansion: \(latencies)")
        try planner.stop()
    }

    // MARK: Small groups

    /// Measures many small groups in a planner of this process, and then in new planners on the same topics.
    private static func measureSmallGroups(options: Options, brokers: [String]) throws {
        let groupCount = Double(options.smallGroups)
        print(
            "planner: \(grouped(groupCount)) groups of one phone each, half of them private ones of one name")
        let planner = try PlannerUnderTest(brokers: brokers)
        let usage = try planner.measureBacklog(count: options.smallGroups, isMixed: true)
        print(
            "  first update of each: \(grouped(groupCount / usage.seconds)) a second, "
                + "\(grouped(groupCount / usage.processorSeconds)) a core-second")
        let latencies = try planner.traffic.measureStream(
            perSecond: options.rate, seconds: options.seconds, groups: options.smallGroups)
        print("  \(options.rate) updates a second for \(options.seconds) s, until visible: \(latencies)")
        try planner.stop()
        try measureRestore(on: planner.bed, brokers: brokers)
        try measureSeparateProcess(options: options, bed: planner.bed)
    }

    /// Measures the time in which a new planner without state files restores its views from the topics.
    private static func measureRestore(on bed: TestBed, brokers: [String]) throws {
        let start = Instant.now()
        let planner = try PlannerUnderTest(brokers: brokers, on: bed)
        try planner.waitUntilReady()
        print("  a fresh process without state files is ready after \(Instant.now().seconds(since: start)) s")
        try planner.stop()
    }

    /// Measures latency and private memory of a planner in a separate process, which first restores its views.
    private static func measureSeparateProcess(options: Options, bed: TestBed) throws {
        let directory = try BenchmarkDirectory()
        let worker = try StageProcess(
            .planner, of: CommandLine.arguments[0], on: bed, data: directory.path)
        let process = worker.process
        let memory = PrivateMemorySampler(of: process.processID)
        let traffic = try SendTraffic(on: bed)
        // The views are complete when the first expansion is visible.
        _ = try traffic.measureOneByOne(count: 1, limitMilliseconds: restoreMillisecondsMax)
        let latencies = try traffic.measureStream(
            perSecond: options.rate, seconds: options.seconds, groups: options.smallGroups)
        print("  the same in a separate process, after its restore: \(latencies)")
        print("  its private memory: \(memory.stop()) MiB")
        worker.stop()
        _ = try runBlocking { try await process.exitStatus() }
    }
}
