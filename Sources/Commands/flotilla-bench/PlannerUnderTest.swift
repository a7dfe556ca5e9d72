internal import FanOut
internal import Glibc
internal import IngestTesting
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

/// A planner in this process, with the writer of its sends (`SendTraffic`). It starts without state files.
final class PlannerUnderTest {
    private static let stopMillisecondsMax = 15_000
    private static let readyMillisecondsMax = 300_000
    private static let backlogMillisecondsMax = 600_000
    private static let pollMicroseconds: UInt32 = 2_000

    let bed: TestBed
    let traffic: SendTraffic
    private let service: FanOutService
    private let metrics = Metrics()
    /// The directory of its state files.
    private let directory: BenchmarkDirectory

    /// - Parameter bed: the topics of an earlier planner; nil makes new ones.
    init(brokers: [String], on bed: TestBed? = nil) throws {
        let bed = try bed ?? TestBed(brokers: brokers, lanes: TopicLayout.lanesDefault)
        self.bed = bed
        directory = try BenchmarkDirectory()
        traffic = try SendTraffic(on: bed)
        service = FanOutService(
            FanOutSettings(), in: try bed.environment(under: directory.path), loops: [.planner],
            onPlannerStep: { _ in })
        let (service, metrics) = (service, metrics)
        try runBlocking {
            let context = ServiceContext(log: .silent, metrics: metrics) { error in
                print("the planner ended: \(error)")
            }
            try await service.start(context)
        }
    }

    func stop() throws {
        let service = service
        let deadline = Instant.now().advanced(byMilliseconds: Self.stopMillisecondsMax)
        try runBlocking { await service.stop(by: deadline) }
        traffic.stop()
    }

    /// Waits until the planner has all partitions and has restored their views.
    func waitUntilReady() throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.readyMillisecondsMax)
        while !service.readinessProblems.isEmpty || restoredPartitions < bed.layout.lanes {
            guard Instant.now() < deadline else {
                throw BenchmarkFailure("not ready: \(service.readinessProblems)")
            }
            usleep(Self.pollMicroseconds)
        }
    }

    /// The number of partitions whose views are complete: one restore is counted for each. The number is the last word of
    /// a line of the metrics, such as `flotilla_fan_out_restore_seconds_count 12`.
    private var restoredPartitions: Int {
        let name = "flotilla_fan_out_restore_seconds_count"
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    /// Measures a number of sends until all are planned. The planner already runs while the sends are written.
    ///
    /// - Parameter isMixed: whether every other group is not private (`SendTraffic.send`).
    func measureBacklog(count: Int, isMixed: Bool = false) throws -> Usage {
        try waitUntilReady()
        let plannedCounter = metrics.counter(
            "flotilla_fan_out_records_total", help: "records, by outcome",
            labels: ["loop": "planner", "outcome": "planned"])
        return try Usage.measure {
            for number in 0..<count { traffic.send(number: number, round: 0, isMixed: isMixed) }
            try traffic.flush()
            let deadline = Instant.now().advanced(byMilliseconds: Self.backlogMillisecondsMax)
            while plannedCounter.value < count {
                guard Instant.now() < deadline else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(Self.pollMicroseconds)
            }
        }
    }
}
