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

/// The work of the scheduler benchmark: it writes schedules, each with one timer, and reads the sends that the scheduler
/// writes when timers are due.
final class ScheduleTraffic {
    /// The first user number of the steady stream. It is above all numbers of the simultaneous timers.
    private static let streamNumbersStart = 10_000_000
    /// The time from a schedule of the steady stream to its timer. It is long enough that the scheduler has stored the
    /// schedule before the timer is due.
    private static let streamOffsetMilliseconds: Int64 = 3_000
    /// The time after the end of the stream in which its last sends must be visible.
    private static let streamExcessSecondsMax = 60
    /// An hour, so that no timer expires in a slow run.
    private static let latenessMillisecondsMax: Int64 = 3_600_000
    private static let processingMillisecondsMax = 600_000
    // The times inside sends and commands. No decision of the scheduler depends on them: an offset counts from the
    // broker's timestamp of the record.
    private static let sendTime: Int64 = 1_763_600_000_000
    private static let commandTime: Int64 = 1

    private let bed: TestBed
    private let writer: RecordWriter
    /// Reads the topic of the due sends.
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 * 1024 * 1024)
    private let reader = JSONReader()

    init(on bed: TestBed) throws {
        self.bed = bed
        writer = try RecordWriter(on: bed, to: .schedules)
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
        let topic = bed.layout.name(of: .sendsTimed)
        try consumer.assign(
            startingAt: (0..<Int32(bed.layout.lanes)).map {
                PartitionStart(partition: TopicPartition(topic, $0), position: .beginning)
            })
    }

    // MARK: Writing

    /// Writes a schedule of one send to a user who has no other schedule.
    func schedule(number: Int, dueTime: Schedule.DueTime) {
        let user = "user-\(number)"
        var send = ScheduleCommandGenerator.makeSend(id: "r-\(number)", user: user, at: Self.sendTime)
        send.owner = .user(user)
        var schedule = Schedule(id: "s", activity: "chest", dueTime: dueTime, send: send)
        schedule.latenessMillisecondsMax = Self.latenessMillisecondsMax
        let command = ScheduleCommand(
            .schedule(schedule), app: TestBed.app.id, owner: .recipient(.user(user)),
            acceptedAt: Self.commandTime)
        writer.write(key: command.key, value: command.encoded())
    }

    /// Waits until Kafka has stored all schedules.
    func flush() throws {
        guard writer.finish() else { throw BenchmarkFailure("the schedules were not stored") }
    }

    /// Waits until the scheduler has committed its position behind all schedules.
    func waitUntilProcessed() throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.processingMillisecondsMax)
        while !bed.isEverythingRead(by: "scheduler", in: [.schedules]) {
            guard Instant.now() < deadline else { throw BenchmarkFailure("not all schedules were processed") }
            usleep(100_000)
        }
    }

    // MARK: Reading

    /// Waits at most this long for sends. Calls `body` with the value of each one that became visible.
    func poll(waitMilliseconds: Int32, forEach body: ([UInt8]) throws -> Void) rethrows {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count {
            guard let value = [UInt8](copying: batch[index].value) else { continue }
            try body(value)
        }
        batch.clear()
    }

    // MARK: The steady stream

    /// Schedules at a steady rate. Measures the time from due to visible of each send.
    func measureStream(perSecond rate: Int, seconds: Int) throws -> Latencies {
        var latencies = Latencies()
        let timerCount = rate * seconds
        let start = Instant.now()
        let deadline = start.advanced(byMilliseconds: (seconds + Self.streamExcessSecondsMax) * 1000)
        var scheduledCount = 0
        while latencies.seconds.count < timerCount {
            // The schedules that the rate demands by now are written in one go.
            let demandedCount = min(timerCount, Int(Instant.now().seconds(since: start) * Double(rate)))
            while scheduledCount < demandedCount {
                schedule(
                    number: Self.streamNumbersStart + scheduledCount,
                    dueTime: .offset(Self.streamOffsetMilliseconds))
                scheduledCount += 1
            }
            try poll(waitMilliseconds: 1) { value in
                // The acceptance time of a timed send is the time at which it was due.
                let dueAt = try Send.decode(value, with: reader).acceptedAt
                latencies.append(Double(WallTime.now().milliseconds - dueAt) / 1000)
            }
            guard Instant.now() <= deadline else {
                throw BenchmarkFailure("\(timerCount - latencies.seconds.count) timers were not seen")
            }
        }
        return latencies
    }
}
