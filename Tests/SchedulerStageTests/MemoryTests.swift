import CatalogRecords
import Identifiers
import IngestTesting
import Kafka
import KafkaTesting
import Payloads
import ProcessTesting
import RecordFormat
import Scheduler
import SchedulerTesting
import Schedules
import Sends
import Telemetry
import Testing
import Topics

/// The anonymous memory of a scheduler stays below the bound that its settings give, while timers wait and fire.
@Suite struct MemoryTests {
    private static let laneCount = TopicLayout.lanesDefault
    /// More timers than a view's overlay holds, and more than one transaction fires.
    private static let timerCount = 30_000
    /// The size of each command: with a content state near the limit of a push.
    private static let paddingBytes = 3000

    /// Returns a command for one send to a user who has no other schedule.
    private func largeCommand(number: Int, dueAt: Int64) -> ScheduleCommand {
        let user = "user-\(number)"
        var send = ScheduleCommandGenerator.makeSend(
            id: "r-\(number)", user: user, at: 1)
        send.owner = .user(user)
        send.content.alert = Alert(
            title: .plain("Goal"), body: .plain(String(repeating: "n", count: Self.paddingBytes)))
        var schedule = Schedule(id: "s", activity: nil, dueTime: .at(dueAt), send: send)
        // On a slow machine the commands are read after their due time.
        schedule.latenessMillisecondsMax = 3_600_000
        return ScheduleCommand(
            .schedule(schedule), app: TestBed.app.id, owner: .recipient(.user(user)), acceptedAt: 1)
    }

    private func endOffsetSum(of topic: TopicName, in bed: TestBed) throws -> Int {
        try (0..<Int32(Self.laneCount)).reduce(0) { sum, partition in
            let topicPartition = TopicPartition(bed.layout.name(of: topic), partition)
            return sum + Int(try bed.admin.watermarks(of: topicPartition).high)
        }
    }

    @Test func `timers that are due together fit into the bound of the settings`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.laneCount)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed, to: .schedules)
        let dueAt = WallTime.now().milliseconds + 5000
        for number in 0..<Self.timerCount {
            let command = largeCommand(number: number, dueAt: dueAt)
            writer.write(key: command.key, value: command.encoded())
        }
        #expect(writer.finish())
        let process = try StageProcess(
            .scheduler, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
        let memory = PrivateMemorySampler(of: process.process.processID)
        try await eventually("all timers have fired", seconds: 240) {
            try #require(process.isRunning, "\(process.process.errors.suffix(600))")
            guard try endOffsetSum(of: .sendsTimed, in: bed) >= Self.timerCount else { return false }
            // The offsets also count the ends of transactions, so the records are counted too.
            var firedCount = 0
            try TopicContent.forEachRecord(of: .sendsTimed, in: bed) { _ in firedCount += 1 }
            return firedCount == Self.timerCount
        }
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let peak = memory.stop()
        print("private memory at most", peak, "MiB")
        // The process reads all partitions of `schedules` and of `schedules.auto`.
        let bound = SchedulerSettings().anonymousBytesMax(partitions: 2 * Self.laneCount)
        #expect(peak <= bound >> 20, "\(peak) MiB")
    }

    @Test func `the page says the bound of the settings`() throws {
        let page = try Repository.text(of: "deploy/book/scheduler.md")
        let bound = SchedulerSettings().anonymousBytesMax(partitions: 12) >> 20
        #expect(page.contains("With the defaults and 12 partitions that is \(bound) MiB."))
        // The formula of the page, applied to other settings. Its 176 MiB are 128 MiB, and twice the 24 MiB of the
        // overlay and of a batch, which have no setting.
        var settings = SchedulerSettings()
        (settings.overlayRowsMax, settings.batchCommandsMax, settings.firesMax) = (7000, 300, 50)
        let formula = (176 << 20) + 256 * 7000 + (4 << 10) * 300 + (8 << 10) * 50 + (4 << 20) * 3
        #expect(settings.anonymousBytesMax(partitions: 3) == formula)
        #expect(
            page.contains(
                "176 MiB + 256 B × scheduler.overlay-rows + 4 KiB × scheduler.batch-commands + 8 KiB × scheduler.batch-timers + 4 MiB × partitions of the process"
            ))
    }
}
