internal import FanOut
internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

/// A planner in this process, with the writer of its sends.
final class PlannerUnderTest {
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
        let deadline = Instant.now().advanced(byMilliseconds: 300_000)
        while !service.readinessProblems.isEmpty || restoredPartitions < bed.layout.lanes {
            guard Instant.now() < deadline else {
                throw BenchmarkFailure("not ready: \(service.readinessProblems)")
            }
            usleep(2000)
        }
    }

    /// The number of partitions whose views are complete: one restore is counted for each.
    private var restoredPartitions: Int {
        let name = "flotilla_fan_out_restore_seconds_count"
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    /// Measures a number of sends until all are planned. The planner already runs while the sends are written.
    func measureBacklog(count: Int, isMixed: Bool = false) throws -> Usage {
        try waitUntilReady()
        let counter = metrics.counter(
            "flotilla_fan_out_records_total", help: "records, by outcome",
            labels: ["loop": "planner", "outcome": "planned"])
        return try Usage.measure {
            for number in 0..<count { traffic.send(number: number, round: 0, isMixed: isMixed) }
            try traffic.flush()
            let deadline = Instant.now().advanced(byMilliseconds: 600_000)
            while counter.value < count {
                guard Instant.now() < deadline else {
                    throw BenchmarkFailure("the backlog was not processed in time")
                }
                usleep(2000)
            }
        }
    }
}
