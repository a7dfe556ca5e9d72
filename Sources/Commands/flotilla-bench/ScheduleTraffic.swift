internal import CatalogRecords
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import SchedulerTesting
internal import Schedules
internal import Sends
internal import Telemetry
internal import Topics

/// A writer of schedules that also reads their sends, and so measures the delay from due to visible.
final class ScheduleTraffic {
    /// The first user number of the steady stream. It is above all numbers of the simultaneous timers.
    private static let streamNumbersStart = 10_000_000

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

    /// Writes a schedule of one send to a user who has no other schedule.
    func schedule(number: Int, dueTime: Schedule.DueTime) {
        let user = "user-\(number)"
        var send = ScheduleCommandGenerator.makeSend(id: "r-\(number)", user: user, at: 1_763_600_000_000)
        send.owner = .user(user)
        var schedule = Schedule(id: "s", activity: "chest", dueTime: dueTime, send: send)
        schedule.latenessMillisecondsMax = 3_600_000
        let command = ScheduleCommand(
            .schedule(schedule), app: TestBed.app.id, owner: .recipient(.user(user)), acceptedAt: 1)
        writer.write(key: command.key, value: command.encoded())
    }

    func flush() throws {
        guard writer.finish() else { throw BenchmarkFailure("the schedules were not stored") }
    }

    /// Waits until the scheduler has committed its position behind all schedules.
    func waitUntilProcessed() throws {
        let partitions = (0..<Int32(bed.layout.lanes)).map {
            TopicPartition(bed.layout.name(of: .schedules), $0)
        }
        let deadline = Instant.now().advanced(byMilliseconds: 600_000)
        while true {
            let lags = try? bed.admin.lag(of: bed.layout.prefix + "scheduler", in: partitions)
            if let lags, lags.allSatisfy({ $0.recordCount == 0 }) { return }
            guard Instant.now() < deadline else { throw BenchmarkFailure("not all schedules were processed") }
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
        let start = Instant.now()
        var scheduledCount = 0
        while latencies.seconds.count < count {
            let dueCount = min(count, Int(Instant.now().seconds(since: start) * Double(rate)))
            while scheduledCount < dueCount {
                schedule(number: Self.streamNumbersStart + scheduledCount, dueTime: .offset(3000))
                scheduledCount += 1
            }
            try poll(waitMilliseconds: 1) { value in
                // The scheduler accepts the send at the due time.
                let dueAt = try Send.decode(value, with: reader).acceptedAt
                latencies.append(Double(WallTime.now().milliseconds - dueAt) / 1000)
            }
            if start.advanced(byMilliseconds: (seconds + 60) * 1000) < .now() {
                throw BenchmarkFailure("\(count - latencies.seconds.count) timers were not seen")
            }
        }
        return latencies
    }
}
