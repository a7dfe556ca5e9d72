internal import FanOut
internal import FanOutTesting
internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import LiveActivity
internal import ProcessTesting
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
        var groups = 0
        var rate = 5000
        var seconds = 60
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(_ arguments: [String]) throws {
            var arguments = arguments
            brokers = try Bootstrap.take(from: &arguments)
            var rest = arguments[...]
            while let name = rest.popFirst() {
                guard let value = rest.popFirst(), let number = Int(value), number > 0 else {
                    throw BenchmarkFailure("\(name) needs a number above 0")
                }
                switch name {
                case "--sends": sends = number
                case "--rounds": rounds = number
                case "--groups": groups = number
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

    static func run(_ arguments: [String]) throws {
        let options = try Options(arguments)
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        let peer = options.brokers == nil ? try BrokerPeer(.broker, shape: shape) : nil
        defer { peer?.end() }
        let brokers = options.brokers ?? [peer!.address]
        if options.groups > 0 { return try manySmall(options, brokers) }
        print("planner: \(grouped(Double(options.sends))) updates of as many private groups, 12 partitions")
        var rates: [Double] = []
        for round in 1...options.rounds {
            let planner = try PlannerUnderTest(brokers)
            let usage = try planner.backlog(options.sends)
            rates.append(Double(options.sends) / usage.processorSeconds)
            print(
                "  round \(round): \(grouped(Double(options.sends) / usage.seconds)) sends a second, "
                    + "\(grouped(rates[round - 1])) a core-second")
            try planner.stop()
        }
        print("  median: \(grouped(rates.median)) sends a core-second")
        let planner = try PlannerUnderTest(brokers)
        try planner.untilReady()
        let latencies = try planner.traffic.oneByOne(300)
        print("  one send at a time, from the call that sends it to its visible expansion: \(latencies)")
        try planner.stop()
    }

    private static func manySmall(_ options: Options, _ brokers: [String]) throws {
        print(
            "planner: \(grouped(Double(options.groups))) groups of one phone each, half of them private ones of one name"
        )
        let planner = try PlannerUnderTest(brokers)
        let usage = try planner.backlog(options.groups, isMixed: true)
        print(
            "  first update of each: \(grouped(Double(options.groups) / usage.seconds)) a second, "
                + "\(grouped(Double(options.groups) / usage.processorSeconds)) a core-second")
        let latencies = try planner.traffic.stream(
            options.rate, seconds: options.seconds, groups: options.groups)
        print("  \(options.rate) updates a second for \(options.seconds) s, until visible: \(latencies)")
        try planner.stop()
        let start = Instant.now()
        let fresh = try PlannerUnderTest(brokers, on: planner.bed)
        try fresh.untilReady()
        print("  a fresh process without state files is ready after \(Instant.now().seconds(since: start)) s")
        try fresh.stop()
        try alone(options, planner.bed)
    }
}

extension PlannerBenchmark {
    /// Runs the same in a separate process to measure its memory. It restores the views and takes the
    /// updates.
    private static func alone(_ options: Options, _ bed: IngestBed) throws {
        let directory = try BenchmarkDirectory()
        let worker = try StageProcess(
            .planner, of: CommandLine.arguments[0], on: bed, data: directory.path)
        let process = worker.process
        let memory = PrivateMemory(of: process.identifier)
        let traffic = try SendTraffic(bed)
        // The view is complete when the first update has passed.
        _ = try traffic.oneByOne(1, limitMilliseconds: 120_000)
        let latencies = try traffic.stream(options.rate, seconds: options.seconds, groups: options.groups)
        print("  the same in a separate process, after its restore: \(latencies)")
        print("  its private memory: \(memory.stop()) MiB")
        worker.stop()
        _ = try waiting { try await process.exitStatus() }
    }
}

/// One planner in this process.
private final class PlannerUnderTest {
    let bed: IngestBed
    let traffic: SendTraffic
    private let service: FanOutService
    private let metrics = Metrics()
    private let directory: String

    init(_ brokers: [String], on bed: IngestBed? = nil) throws {
        let bed = try bed ?? IngestBed(brokers, lanes: TopicLayout.lanesDefault)
        self.bed = bed
        directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        traffic = try SendTraffic(bed)
        service = FanOutService(
            FanOutSettings(), in: try bed.environment(under: directory), loops: [.planner],
            onPlannerStep: { _ in })
        let (service, metrics) = (service, metrics)
        try waiting {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in print("the planner ended: \(error)")
                })
        }
    }

    func stop() throws {
        let service = service
        try waiting { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }
        traffic.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func untilReady() throws {
        let limit = Instant.now().advanced(byMilliseconds: 300_000)
        while !service.readinessProblems.isEmpty || restored < bed.layout.lanes {
            guard Instant.now() < limit else {
                throw BenchmarkFailure("not ready: \(service.readinessProblems)")
            }
            usleep(2000)
        }
    }

    /// The number of partitions whose views are complete.
    private var restored: Int {
        let name = "flotilla_fan_out_restore_seconds_count"
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    /// Measures a number of sends until all are planned. The planner also runs while the sends are written,
    /// because a backlog before its start would look the same to it.
    func backlog(_ count: Int, isMixed: Bool = false) throws -> Usage {
        try untilReady()
        let counter = metrics.counter(
            "flotilla_fan_out_records_total", help: "records, by outcome",
            labels: ["loop": "planner", "outcome": "planned"])
        return try Usage.of {
            for number in 0..<count { traffic.send(number, round: 0, isMixed: isMixed) }
            try traffic.finish()
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
    private let bed: IngestBed
    private let sender: ReportSender
    private let watcher: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)

    init(_ bed: IngestBed) throws {
        self.bed = bed
        sender = try ReportSender(bed, to: .sends)
        watcher = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    func stop() { _ = watcher.close() }

    func finish() throws {
        guard sender.finish() else { throw BenchmarkFailure("the sends were not stored") }
    }

    /// Writes a send to the group of one phone. If mixed, half of the groups are private ones of one name.
    func send(_ number: Int, round: Int, isMixed: Bool) {
        let user = "user-\(number)"
        let isPrivate = !isMixed || number % 2 == 0
        var content = PushContent(.update)
        content.contentState = state
        var send = Send(
            id: "r-\(round)-\(number)", app: IngestBed.app.id, group: isPrivate ? "order" : "match-\(number)",
            audience: .users([user]), content: content, priority: 10, acceptedAt: 1_763_600_000_000)
        if isPrivate { send.owner = .user(user) }
        sender.send(key: send.scopeKey?.bytes, value: send.encoded())
    }

    /// A state of about 400 bytes, as for a delivery.
    private let state: RawJSON = {
        let text = "{\"stops\":\"" + String(repeating: "x", count: 380) + "\",\"minutes\":7}"
        var bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeMutableBytes { unsafe RawJSON(accepted: UnsafeRawBufferPointer($0)) }
    }()

    private func watch() throws {
        let name = bed.layout.name(of: .expansionsUrgent)
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(name, lane)
            starts.append(
                PartitionStart(
                    partition: partition, position: .offset(try watcher.watermarks(of: partition).high)))
        }
        try watcher.assign(startingAt: starts)
    }

    /// Calls `body` with the number of each send whose expansion became visible.
    private func look(waitMilliseconds: Int32, _ body: (Int) -> Void) {
        _ = watcher.poll(into: &batch, waitMilliseconds: waitMilliseconds)
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

    func oneByOne(_ count: Int, limitMilliseconds: Int = 10_000) throws -> Latencies {
        try watch()
        var latencies = Latencies()
        for number in 0..<count {
            let start = Instant.now()
            send(number, round: 1, isMixed: false)
            try finish()
            var isSeen = false
            while !isSeen {
                look(waitMilliseconds: 100) { if $0 == number { isSeen = true } }
                if start.advanced(byMilliseconds: limitMilliseconds) < .now() {
                    throw BenchmarkFailure("a send was lost")
                }
            }
            // The first sends open connections, so they do not count.
            if number >= 20 { latencies.add(Instant.now().seconds(since: start)) }
            usleep(20_000)
        }
        return latencies
    }

    func stream(_ rate: Int, seconds: Int, groups: Int) throws -> Latencies {
        try watch()
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
                send(number, round: 2, isMixed: true)
                sent += 1
            }
            look(waitMilliseconds: 1) { number in
                guard let time = times.removeValue(forKey: number) else { return }
                seen += 1
                latencies.add(Instant.now().seconds(since: time))
            }
            if begun.advanced(byMilliseconds: (seconds + 60) * 1000) < .now() {
                throw BenchmarkFailure("\(count - seen) sends were not seen")
            }
        }
        return latencies
    }
}
