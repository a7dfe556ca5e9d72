internal import FanOut
internal import FanOutTesting
internal import Foundation
internal import Glibc
internal import IngestTesting
internal import JSON
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import LiveActivity
internal import Telemetry
internal import Topics

/// Expansions from Kafka to jobs in Kafka: read, walked, committed in transactions, and starts read back into the
/// ledger's view. The broker is a process of its own; the processor time is this process's, all threads of the
/// client included.
enum ExpanderBenchmark {
    private struct Options {
        var tokens = 1_000_000
        var rounds = 3
        var bodyBytes = 600
        var jobsPerSheet = 256
        var singles = 100
        /// A cluster that runs already; without it a broker of its own.
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
                case "--tokens": tokens = number
                case "--rounds": rounds = number
                case "--body": bodyBytes = number
                case "--per-sheet": jobsPerSheet = number
                case "--singles": singles = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --tokens, --rounds, --body, --per-sheet, --singles, --bootstrap"
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
        print(
            "fanout: \(grouped(Double(options.tokens))) tokens, 12 lanes, bodies of \(options.bodyBytes) bytes, "
                + "sheets of \(options.jobsPerSheet)")
        let bench = try ExpanderUnderTest(
            brokers, tokens: options.tokens, bodyBytes: options.bodyBytes, jobsPerSheet: options.jobsPerSheet)
        let memory = PrivateMemory()
        for event in [PushEvent.update, .start] {
            var rates: [Double] = []
            for round in 1...options.rounds {
                let (usage, first) = try bench.send(event)
                rates.append(Double(options.tokens) / usage.seconds)
                print(
                    "  \(event.rawValue), round \(round): \(grouped(rates[round - 1])) jobs a second, "
                        + "\(grouped(Double(options.tokens) / usage.processorSeconds)) a core-second, "
                        + String(format: "the first visible after %.0f ms", first * 1000))
            }
            print("  \(event.rawValue), median: \(grouped(rates.median)) jobs a second")
        }
        print("  one user's send when idle, until its job is visible: \(try bench.singles(options.singles))")
        print(
            "  the same while \(grouped(Double(options.tokens))) tokens expand: "
                + "\(try bench.singles(options.singles, isBusy: true))")
        print("  private memory: \(memory.stop()) MiB")
        try bench.stop()
    }
}

/// One expander in this process, and who writes expansions and watches for their jobs.
private final class ExpanderUnderTest {
    private let bed: IngestBed
    private let world: ExpanderBed
    private let service: FanOutService
    private let metrics = Metrics()
    private let directory: String
    private let usual: Consumer
    private let urgent: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    private let tokens: Int
    private let state: RawJSON?
    private var version: Int64 = 1_763_600_000

    init(_ brokers: [String], tokens: Int, bodyBytes: Int, jobsPerSheet: Int) throws {
        self.tokens = tokens
        bed = try IngestBed(brokers, lanes: TopicLayout.lanesDefault)
        world = try ExpanderBed(bed)
        for number in 0..<tokens {
            world.report("phone-\(number)", .start(type: "Match"))
            world.report("phone-\(number)", .update(activity: "activity-\(number)"), group: "match")
        }
        world.report("single", .update(activity: "single"), group: "single")
        guard world.finish() else { throw BenchmarkFailure("the registry was not stored") }
        // What the body has beside it.
        let padding = String(repeating: "x", count: max(1, bodyBytes - 90))
        state = try RawJSON(checking: Array("{\"goals\":\"\(padding)\"}".utf8), with: JSONReader())
        directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        usual = try Self.watcher(bed)
        urgent = try Self.watcher(bed)
        var settings = FanOutSettings()
        settings.jobsPerSheet = jobsPerSheet
        service = FanOutService(
            settings, in: try bed.environment(under: directory), loops: [.expander], onPlannerStep: { _ in })
        let (service, metrics) = (service, metrics)
        let start = Instant.now()
        try waiting {
            try await service.start(
                ServiceContext(log: .silent, metrics: metrics) { error in
                    print("the expander ended: \(error)")
                })
        }
        let limit = start.advanced(byMilliseconds: 300_000)
        while restored < bed.layout.lanes {
            guard Instant.now() < limit else { throw BenchmarkFailure("not ready: \(service.obstacles)") }
            usleep(2000)
        }
        print(String(format: "  ready without state files after %.1f s", Instant.now().seconds(since: start)))
        try watch(usual, .jobs)
        try watch(urgent, .jobsUrgent)
    }

    private static func watcher(_ bed: IngestBed) throws -> Consumer {
        try Consumer(
            bed.settings, ConsumerOptions(.manual), name: "watcher", log: .silent, metrics: Metrics())
    }

    private func watch(_ watcher: Consumer, _ topic: TopicName) throws {
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(bed.layout.name(topic), lane)
            starts.append(PartitionStart(partition, .offset(try watcher.watermarks(of: partition).high)))
        }
        try watcher.assign(starts)
    }

    private var restored: Int {
        let name = "flotilla_fan_out_restore_seconds_count{view=\"lane\"}"
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    private var jobs: Int { metrics.counter("flotilla_fan_out_jobs_total", help: "jobs committed").value }

    func stop() throws {
        let service = service
        try waiting { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }
        _ = usual.close()
        _ = urgent.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// To everybody: until all jobs are committed.
    ///
    /// - Returns: what it took, and the seconds to the first visible job.
    func send(_ event: PushEvent) throws -> (usage: Usage, first: Double) {
        let goal = jobs + tokens
        // Whoever reads the jobs now begins at their ends.
        try usual.release()
        try watch(usual, .jobs)
        var first: Double?
        let usage = try Usage.of {
            let begun = Instant.now()
            begin(event)
            while jobs < goal {
                if first == nil {
                    _ = usual.poll(into: &batch, waitMilliseconds: 1)
                    if !batch.isEmpty { first = Instant.now().seconds(since: begun) }
                    batch.clear()
                    if first != nil { try usual.release() }
                } else {
                    usleep(1000)
                }
                if begun.advanced(byMilliseconds: 300_000) < .now() {
                    throw BenchmarkFailure("\(goal - jobs) jobs are missing")
                }
            }
        }
        return (usage, first ?? usage.seconds)
    }

    private func begin(_ event: PushEvent) {
        version += 1
        var expansion = ExpanderBed.expansion(
            event, of: event == .start ? "start-\(version)" : "match", send: "s\(version)", version: version,
            generation: event == .start ? version : 0)
        expansion.content.contentState = state
        world.expand(expansion)
    }

    /// One user's sends, one after the other.
    func singles(_ count: Int, isBusy: Bool = false) throws -> String {
        try? urgent.release()
        try watch(urgent, .jobsUrgent)
        var seconds: [Double] = []
        var goal = jobs
        for number in 0..<count {
            if isBusy, jobs >= goal {
                begin(.update)
                goal = jobs + tokens
            }
            version += 1
            let begun = Instant.now()
            world.expand(
                ExpanderBed.expansion(
                    .update, of: "single", send: "s\(version)", version: version, to: "single"))
            guard world.finish() else { throw BenchmarkFailure("an expansion was not stored") }
            while batch.isEmpty {
                _ = urgent.poll(into: &batch, waitMilliseconds: 100)
                if begun.advanced(byMilliseconds: 30_000) < .now() {
                    throw BenchmarkFailure("a job was lost")
                }
            }
            batch.clear()
            // The first ones make connections.
            if number >= count / 10 { seconds.append(Instant.now().seconds(since: begun)) }
            usleep(10_000)
        }
        let sorted = seconds.sorted()
        guard let last = sorted.last else { return "–" }
        let p99 = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
        return String(
            format: "%.0f ms median, %.0f ms p99, %.0f ms at most", sorted[sorted.count / 2] * 1000,
            p99 * 1000, last * 1000)
    }
}
