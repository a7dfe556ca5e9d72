internal import CatalogRecords
internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import JSON
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import ProcessTesting
internal import RecordFormat
internal import SchedulerTesting
internal import Schedules
internal import Sends
internal import Telemetry
internal import Topics

/// A measurement of schedules from Kafka to timers, and of timers to sends in Kafka. The scheduler and the
/// broker, which syncs as in production, are separate processes. This process writes the schedules and reads
/// the sends.
enum SchedulerBenchmark {
    private struct Options {
        /// The number of timers that are due at one moment.
        var timers = 1_000_000
        /// The assumed minimum rate of loading, per second. The due time is set from it.
        var loadRateMin = 15_000
        /// The rate per second of the second measurement.
        var rate = 1000
        var seconds = 30
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
                case "--timers": timers = number
                case "--loaded": loadRateMin = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --timers, --loaded, --rate, --seconds, --bootstrap")
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        let peer = options.brokers == nil ? try BrokerProcess(.syncedBroker, shape: shape) : nil
        defer { peer?.stop() }
        let bed = try TestBed(brokers: options.brokers ?? [peer!.address], lanes: TopicLayout.lanesDefault)
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

    private static func measureSimultaneousTimers(options: Options, traffic orders: ScheduleTraffic) throws {
        let count = options.timers
        print(
            "scheduler: \(grouped(Double(count))) timers of as many users, due in one moment, 12 partitions")
        let begun = Instant.now()
        let dueAt = WallTime.now().milliseconds + Int64(20_000 + count * 1000 / options.loadRateMin)
        for number in 0..<count { orders.schedule(number: number, dueTime: .at(dueAt)) }
        try orders.flush()
        try orders.waitUntilProcessed()
        let seconds = Instant.now().seconds(since: begun)
        guard WallTime.now().milliseconds < dueAt else {
            throw BenchmarkFailure(
                "loading took \(seconds) s, so the timers were due before its end; lower --loaded")
        }
        print("  loaded at \(grouped(Double(count) / seconds)) schedules a second")
        var seen = 0
        var first: Int64?
        let limit = dueAt + 600_000
        while seen < count {
            orders.poll(waitMilliseconds: 100) { _ in
                seen += 1
                first = first ?? WallTime.now().milliseconds
            }
            if WallTime.now().milliseconds > limit {
                throw BenchmarkFailure("\(count - seen) timers were not seen")
            }
        }
        let last = WallTime.now().milliseconds - dueAt
        print(
            String(
                format: "  the first is visible %d ms after the moment, the last after %.1f s",
                Int((first ?? dueAt) - dueAt), Double(last) / 1000))
    }
}

/// A writer of schedules that watches for their sends.
private final class ScheduleTraffic {
    private let bed: TestBed
    private let writer: RecordWriter
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    private let reader = JSONReader()

    init(on bed: TestBed) throws {
        self.bed = bed
        writer = try RecordWriter(on: bed, to: .schedules)
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
        let name = bed.layout.name(of: .sendsTimed)
        try consumer.assign(
            startingAt: (0..<Int32(bed.layout.lanes)).map {
                PartitionStart(partition: TopicPartition(name, $0), position: .beginning)
            })
    }

    /// Schedules a send for a separate user.
    func schedule(number: Int, dueTime when: Schedule.DueTime) {
        let user = "user-\(number)"
        var send = ScheduleCommandGenerator.makeSend(id: "r-\(number)", user: user, at: 1_763_600_000_000)
        send.owner = .user(user)
        var schedule = Schedule(id: "s", activity: "chest", dueTime: when, send: send)
        schedule.latenessMillisecondsMax = 3_600_000
        let command = ScheduleCommand(
            .schedule(schedule), app: TestBed.app.id, owner: .recipient(.user(user)), acceptedAt: 1)
        writer.write(key: command.key, value: command.encoded())
    }

    func flush() throws {
        guard writer.finish() else { throw BenchmarkFailure("the schedules were not stored") }
    }

    func waitUntilProcessed() throws {
        let partitions = (0..<Int32(bed.layout.lanes)).map {
            TopicPartition(bed.layout.name(of: .schedules), $0)
        }
        let limit = Instant.now().advanced(byMilliseconds: 600_000)
        while true {
            let lags = try? bed.admin.lag(of: bed.layout.prefix + "scheduler", in: partitions)
            if let lags, lags.allSatisfy({ $0.recordCount == 0 }) { return }
            guard Instant.now() < limit else { throw BenchmarkFailure("not all schedules were processed") }
            usleep(100_000)
        }
    }

    /// Calls `body` with each send that became visible.
    func poll(waitMilliseconds: Int32, forEach body: ([UInt8]) throws -> Void) rethrows {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count {
            guard let value = [UInt8](copying: batch[index].value) else { continue }
            try body(value)
        }
        batch.clear()
    }

    /// Schedules at a steady rate. Each timer is due three seconds after it was scheduled.
    func measureStream(perSecond rate: Int, seconds: Int) throws -> Latencies {
        var latencies = Latencies()
        let count = rate * seconds
        let begun = Instant.now()
        var sent = 0
        while latencies.seconds.count < count {
            let due = min(count, Int(Instant.now().seconds(since: begun) * Double(rate)))
            while sent < due {
                schedule(number: 10_000_000 + sent, dueTime: .offset(3000))
                sent += 1
            }
            try poll(waitMilliseconds: 1) { value in
                let dueAt = try Send.decode(value, with: reader).acceptedAt
                latencies.append(Double(WallTime.now().milliseconds - dueAt) / 1000)
            }
            if begun.advanced(byMilliseconds: (seconds + 60) * 1000) < .now() {
                throw BenchmarkFailure("\(count - latencies.seconds.count) timers were not seen")
            }
        }
        return latencies
    }
}
