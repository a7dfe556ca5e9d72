internal import CatalogRecords
internal import FanOut
internal import FanOutTesting
internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import JSON
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import Payloads
internal import ProcessTesting
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Telemetry
internal import Topics

/// A measurement of sends from Kafka to expansions in Kafka: read, planned, committed in transactions, and
/// read back into the views. The broker is a separate process. The processor time of this process counts, with
/// all threads of the Kafka client and the writer of the sends.
enum PlannerBenchmark {
    private struct Options {
        var sends = 100_000
        var rounds = 3
        /// The number of groups for the case with many small groups, half of them private ones of one name. 0
        /// skips it.
        var smallGroups = 0
        var rate = 5000
        var seconds = 60
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
                case "--sends": sends = number
                case "--rounds": rounds = number
                case "--groups": smallGroups = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --sends, --rounds, --groups, --rate, --seconds, --bootstrap"
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
        if options.smallGroups > 0 { return try measureSmallGroups(options: options, brokers: brokers) }
        print("planner: \(grouped(Double(options.sends))) updates of as many private groups, 12 partitions")
        var rates: [Double] = []
        for round in 1...options.rounds {
            let planner = try PlannerUnderTest(brokers: brokers)
            let usage = try planner.measureBacklog(count: options.sends)
            rates.append(Double(options.sends) / usage.processorSeconds)
            print(
                "  round \(round): \(grouped(Double(options.sends) / usage.seconds)) sends a second, "
                    + "\(grouped(rates[round - 1])) a core-second")
            try planner.stop()
        }
        print("  median: \(grouped(rates.median)) sends a core-second")
        let planner = try PlannerUnderTest(brokers: brokers)
        try planner.waitUntilReady()
        let latencies = try planner.traffic.measureOneByOne(count: 300)
        print("  one send at a time, from the call that sends it to its visible expansion: \(latencies)")
        try planner.stop()
    }

    private static func measureSmallGroups(options: Options, brokers: [String]) throws {
        print(
            "planner: \(grouped(Double(options.smallGroups))) groups of one phone each, half of them private ones of one name"
        )
        let planner = try PlannerUnderTest(brokers: brokers)
        let usage = try planner.measureBacklog(count: options.smallGroups, isMixed: true)
        print(
            "  first update of each: \(grouped(Double(options.smallGroups) / usage.seconds)) a second, "
                + "\(grouped(Double(options.smallGroups) / usage.processorSeconds)) a core-second")
        let latencies = try planner.traffic.measureStream(
            perSecond: options.rate, seconds: options.seconds, groups: options.smallGroups)
        print("  \(options.rate) updates a second for \(options.seconds) s, until visible: \(latencies)")
        try planner.stop()
        let start = Instant.now()
        let freshPlanner = try PlannerUnderTest(brokers: brokers, on: planner.bed)
        try freshPlanner.waitUntilReady()
        print("  a fresh process without state files is ready after \(Instant.now().seconds(since: start)) s")
        try freshPlanner.stop()
        try measureSeparateProcess(options: options, bed: planner.bed)
    }
}

extension PlannerBenchmark {
    /// Runs the same in a separate process to measure its memory. It restores the views and takes the
    /// updates.
    private static func measureSeparateProcess(options: Options, bed: TestBed) throws {
        let directory = try BenchmarkDirectory()
        let worker = try StageProcess(
            .planner, of: CommandLine.arguments[0], on: bed, data: directory.path)
        let process = worker.process
        let memory = PrivateMemorySampler(of: process.processID)
        let traffic = try SendTraffic(on: bed)
        // The view is complete when the first update has passed.
        _ = try traffic.measureOneByOne(count: 1, limitMilliseconds: 120_000)
        let latencies = try traffic.measureStream(
            perSecond: options.rate, seconds: options.seconds, groups: options.smallGroups)
        print("  the same in a separate process, after its restore: \(latencies)")
        print("  its private memory: \(memory.stop()) MiB")
        worker.stop()
        _ = try runBlocking { try await process.exitStatus() }
    }
}

/// One planner in this process.
private final class PlannerUnderTest {
    let bed: TestBed
    let traffic: SendTraffic
    private let service: FanOutService
    private let metrics = Metrics()
    private let directory: String

    init(brokers: [String], on bed: TestBed? = nil) throws {
        let bed = try bed ?? TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        self.bed = bed
        directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        traffic = try SendTraffic(on: bed)
        service = FanOutService(
            FanOutSettings(), in: try bed.environment(under: directory), loops: [.planner],
            onPlannerStep: { _ in })
        let (service, metrics) = (service, metrics)
        try runBlocking {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in print("the planner ended: \(error)")
                })
        }
    }

    func stop() throws {
        let service = service
        try runBlocking { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }
        traffic.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func waitUntilReady() throws {
        let limit = Instant.now().advanced(byMilliseconds: 300_000)
        while !service.readinessProblems.isEmpty || restoredPartitions < bed.layout.lanes {
            guard Instant.now() < limit else {
                throw BenchmarkFailure("not ready: \(service.readinessProblems)")
            }
            usleep(2000)
        }
    }

    /// The number of partitions whose views are complete.
    private var restoredPartitions: Int {
        let name = "flotilla_fan_out_restore_seconds_count"
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    /// Measures a number of sends until all are planned. The planner also runs while the sends are written,
    /// because a backlog before its start would look the same to it.
    func measureBacklog(count: Int, isMixed: Bool = false) throws -> Usage {
        try waitUntilReady()
        let counter = metrics.counter(
            "flotilla_fan_out_records_total", help: "records, by outcome",
            labels: ["loop": "planner", "outcome": "planned"])
        return try Usage.measure {
            for number in 0..<count { traffic.send(number: number, round: 0, isMixed: isMixed) }
            try traffic.flush()
            let limit = Instant.now().advanced(byMilliseconds: 600_000)
            while counter.value < count {
                guard Instant.now() < limit else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
        }
    }

}

/// A writer of sends that watches for their expansions.
private final class SendTraffic {
    private let bed: TestBed
    private let writer: RecordWriter
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)

    init(on bed: TestBed) throws {
        self.bed = bed
        writer = try RecordWriter(on: bed, to: .sends)
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    func stop() { _ = consumer.close() }

    func flush() throws {
        guard writer.finish() else { throw BenchmarkFailure("the sends were not stored") }
    }

    /// Writes a send to the group of one phone. If mixed, half of the groups are private ones of one name.
    func send(number: Int, round: Int, isMixed: Bool) {
        let user = "user-\(number)"
        let isPrivate = !isMixed || number % 2 == 0
        var content = PushContent(.update)
        content.contentState = state
        var send = Send(
            id: "r-\(round)-\(number)", app: TestBed.app.id, group: isPrivate ? "order" : "match-\(number)",
            audience: .users([user]), content: content, priority: .immediate, acceptedAt: 1_763_600_000_000)
        if isPrivate { send.owner = .user(user) }
        writer.write(key: send.scopeKey?.bytes, value: send.encoded())
    }

    /// A state of about 400 bytes, as for a delivery.
    private let state: RawJSON = {
        let text = "{\"stops\":\"" + String(repeating: "x", count: 380) + "\",\"minutes\":7}"
        var bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeMutableBytes { unsafe RawJSON(accepted: UnsafeRawBufferPointer($0)) }
    }()

    private func assignFromEnds() throws {
        let name = bed.layout.name(of: .expansionsUrgent)
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(name, lane)
            starts.append(
                PartitionStart(
                    partition: partition, position: .offset(try consumer.watermarks(of: partition).high)))
        }
        try consumer.assign(startingAt: starts)
    }

    /// Calls `body` with the number of each send whose expansion became visible.
    private func poll(waitMilliseconds: Int32, forEach body: (Int) -> Void) {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count {
            guard let value = batch[index].value else { continue }
            // The number is read in place from `{"v":1,"send":"r-1-123", …`.
            var number = 0
            var dashes = 0
            for place in 0..<min(value.count, 60) {
                let byte = value[place]
                if byte == UInt8(ascii: "-") { dashes += 1 }
                if dashes == 2, (0x30...0x39).contains(byte) { number = number * 10 + Int(byte - 0x30) }
                if dashes == 2, byte == UInt8(ascii: "\"") { break }
            }
            body(number)
        }
        batch.clear()
    }

    func measureOneByOne(count: Int, limitMilliseconds: Int = 10_000) throws -> Latencies {
        try assignFromEnds()
        var latencies = Latencies()
        for number in 0..<count {
            let start = Instant.now()
            send(number: number, round: 1, isMixed: false)
            try flush()
            var isSeen = false
            while !isSeen {
                poll(waitMilliseconds: 100) { if $0 == number { isSeen = true } }
                if start.advanced(byMilliseconds: limitMilliseconds) < .now() {
                    throw BenchmarkFailure("a send was lost")
                }
            }
            // The first sends open connections, so they do not count.
            if number >= 20 { latencies.append(Instant.now().seconds(since: start)) }
            usleep(20_000)
        }
        return latencies
    }

    func measureStream(perSecond rate: Int, seconds: Int, groups: Int) throws -> Latencies {
        try assignFromEnds()
        var latencies = Latencies()
        let count = rate * seconds
        var times: [Int: Instant] = [:]
        let begun = Instant.now()
        var sent = 0
        var seen = 0
        while seen < count {
            let due = min(count, Int(Instant.now().seconds(since: begun) * Double(rate)))
            while sent < due {
                // A group gets its next update only after a time in which no send has to wait.
                let number = sent % groups
                times[number] = .now()
                send(number: number, round: 2, isMixed: true)
                sent += 1
            }
            poll(waitMilliseconds: 1) { number in
                guard let time = times.removeValue(forKey: number) else { return }
                seen += 1
                latencies.append(Instant.now().seconds(since: time))
            }
            if begun.advanced(byMilliseconds: (seconds + 60) * 1000) < .now() {
                throw BenchmarkFailure("\(count - seen) sends were not seen")
            }
        }
        return latencies
    }
}
