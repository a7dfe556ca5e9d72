internal import Foundation
internal import IngestTesting
internal import Lifecycle
internal import ProcessTesting
internal import Schedules
internal import Telemetry
internal import Topics

/// A measurement of the scheduler: it reads schedules from Kafka, and writes sends to Kafka when timers are due.
/// First all timers are due at one moment, then timers are due at a steady rate. The scheduler and the broker, which
/// syncs as in production, are separate processes. This process writes the schedules and reads the sends.
enum SchedulerBenchmark {
    private struct Options {
        /// The number of timers that are due at one moment.
        var timers = 1_000_000
        /// The assumed minimum rate, per second, at which the scheduler stores schedules. The moment at which the timers
        /// are due follows from it.
        var loadRateMin = 15_000
        /// The timers per second of the second measurement, at a steady rate, and its duration.
        var rate = 1000
        var seconds = 30
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--timers": timers = number
                case "--loaded": loadRateMin = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    /// The start of the scheduler, which is added to the time for storing the schedules.
    private static let startMilliseconds = 20_000
    private static let firingMillisecondsMax: Int64 = 600_000

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .syncedBroker)
        defer { cluster.stop() }
        let bed = try TestBed(brokers: cluster.brokers, lanes: TopicLayout.lanesDefault)
        let directory = try BenchmarkDirectory()
        let worker = try StageProcess(
            .scheduler, of: CommandLine.arguments[0], on: bed, data: directory.path)
        let process = worker.process
        let memory = PrivateMemorySampler(of: process.processID)
        let traffic = try ScheduleTraffic(on: bed)
        try measureSimultaneousTimers(options: options, traffic: traffic)
        let latencies = try traffic.measureStream(perSecond: options.rate, seconds: options.seconds)
        print(
            "  \(options.rate) timers a second for \(options.seconds) s, from due to visible: \(latencies)")
        print("  the scheduler's private memory: \(memory.stop()) MiB")
        worker.stop()
        _ = try runBlocking { try await process.exitStatus() }
    }

    // MARK: Timers that are due at one moment

    private static func measureSimultaneousTimers(options: Options, traffic: ScheduleTraffic) throws {
        print(
            "scheduler: \(grouped(Double(options.timers))) timers of as many users, due in one moment, 12 partitions"
        )
        let loadMillisecondsMax = startMilliseconds + options.timers * 1000 / options.loadRateMin
        let dueAt = WallTime.now().milliseconds + Int64(loadMillisecondsMax)
        try load(timerCount: options.timers, dueAt: dueAt, traffic: traffic)
        try waitForSends(count: options.timers, dueAt: dueAt, traffic: traffic)
    }

    /// Writes the schedules, and waits until the scheduler has stored them. Throws if that ends after the due time.
    ///
    /// - Parameter dueAt: milliseconds since 1970.
    private static func load(timerCount: Int, dueAt: Int64, traffic: ScheduleTraffic) throws {
        let start = Instant.now()
        for number in 0..<timerCount { traffic.schedule(number: number, dueTime: .at(dueAt)) }
        try traffic.flush()
        try traffic.waitUntilProcessed()
        let loadSeconds = Instant.now().seconds(since: start)
        guard WallTime.now().milliseconds < dueAt else {
            throw BenchmarkFailure(
                "loading took \(loadSeconds) s, so the timers were due before its end; lower --loaded")
        }
        print("  loaded at \(grouped(Double(timerCount) / loadSeconds)) schedules a second")
    }

    /// Waits until the sends of all timers are visible. Prints the delays of the first and the last one.
    private static func waitForSends(count: Int, dueAt: Int64, traffic: ScheduleTraffic) throws {
        var visibleCount = 0
        var firstVisibleAt: Int64?
        while visibleCount < count {
            traffic.poll(waitMilliseconds: 100) { _ in
                visibleCount += 1
                firstVisibleAt = firstVisibleAt ?? WallTime.now().milliseconds
            }
            if WallTime.now().milliseconds > dueAt + firingMillisecondsMax {
                throw BenchmarkFailure("\(count - visibleCount) timers were not seen")
            }
        }
        let firstDelayMilliseconds = (firstVisibleAt ?? dueAt) - dueAt
        let lastDelayMilliseconds = WallTime.now().milliseconds - dueAt
        print(
            String(
                format: "  the first is visible %d ms after the moment, the last after %.1f s",
                Int(firstDelayMilliseconds), Double(lastDelayMilliseconds) / 1000))
    }
}
