import FanOut
import Identifiers
import IngestTesting
import KafkaTesting
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Scheduler
import SchedulerTesting
import Schedules
import Sends
import Simulation
import StageSupport
import Telemetry
import Testing
import Topics

/// Returns a schedule of the user ben.
private func schedule(_ id: String, activity: String? = nil, in milliseconds: Int64) -> Schedule {
    var send = ScheduleCommandGenerator.makeSend(id: "r-" + id, user: "ben", at: 1)
    send.owner = .user("ben")
    return Schedule(id: id, activity: activity, dueTime: .offset(milliseconds), send: send)
}

/// Tests of the scheduler stage on a real cluster (`SchedulerStage`), once also together with a planner. A test writes
/// commands to `schedules`, and reads the replies and the sends that fired.
@Suite struct SchedulerStageTests {
    @Test func `a scheduled send fires at its time, and a cancelled one does not`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let commands = try RecordWriter(on: bed, to: .schedules)
        // The cancel selects the first two of the three timers. The cancel of another user selects none.
        for (number, activity) in ["chest_0", "chest_0", "chest_1"].enumerated() {
            commands.send(
                .schedule(schedule("s\(number)", activity: activity, in: 6000)), request: "s\(number)")
        }
        commands.send(.cancel(.activity("chest_0")), request: "cancel")
        commands.send(.cancel(.activity("chest_0")), user: "ada", request: "cancel of ada")
        commands.send(.list(10), request: "list")
        #expect(commands.finish())
        try await eventually("all requests have a reply") {
            try bed.replies().count == 6 || stage.failure != nil
        }
        let replies = try bed.replies()
        #expect(replies["cancel"] == .cancelled(2, tooLate: 0))
        #expect(replies["cancel of ada"] == .cancelled(0, tooLate: 0))
        guard case .scheduled(let scheduledTimer) = replies["s2"],
            case .listed(let listed, true) = replies["list"]
        else {
            Issue.record("\(replies)")
            return
        }
        #expect(listed.map(\.id) == ["s2"])
        try await eventually("the third timer fires") {
            try !bed.timedSends().isEmpty || stage.failure != nil
        }
        commands.send(.cancel(.activity("chest_1")), request: "late")
        #expect(commands.finish())
        try await eventually("the cancel is too late") {
            try bed.replies()["late"] == .cancelled(0, tooLate: 1)
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let checker = try SchedulerChecker(on: bed)
        #expect(checker.fault == nil, "\(checker.fault ?? "")")
        let sends = try bed.timedSends()
        #expect(sends.map(\.id) == ["r-s2"])
        #expect(sends.first?.acceptedAt == scheduledTimer.dueAt)
        #expect(try bed.verdicts() == ["r-s0": [.cancelled], "r-s1": [.cancelled]])
        #expect(stage.metric("flotilla_scheduler_lateness_seconds_count") == 1)
    }

    @Test(arguments: [nil, UInt64(5)])
    func `each command has one reply and each timer one outcome, also in weather`(weatherSeed: UInt64?)
        async throws
    {
        let cluster = try weatherSeed.map { try TestCluster(weatherSeed: $0) } ?? TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let commands = try RecordWriter(on: bed, to: .schedules)
        var generator = ScheduleCommandGenerator(
            seed: UInt64.random(in: 0...9999), partitions: bed.layout.partitionCount(of: .replies))
        var random = SeededGenerator(seed: 7)
        var commandCount = 0
        for number in 0..<2000 {
            let isInvalid = number % 100 == 7
            if isInvalid {
                commands.write(key: Array("shop/poison".utf8), value: InvalidRecord.random(using: &random))
            } else {
                let command = generator.next(at: WallTime.now().milliseconds)
                commands.write(key: command.key, value: command.encoded())
                commandCount += 1
            }
        }
        #expect(commands.finish())
        try await eventually("no timer waits") {
            if stage.failure != nil { return true }
            // A command that is not read yet has no timer in the topic. So the replies are checked first.
            guard try bed.replies().count == commandCount else { return false }
            let rows = try TopicContent(of: .timers, in: bed).newestValues.keys
            return rows.allSatisfy { key in key.withUnsafeBytes { ScheduleIdempotencyRow.isKey($0) } }
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let checker = try SchedulerChecker(on: bed)
        #expect(checker.fault == nil, "\(checker.fault ?? "")")
        #expect(checker.firedCount > 100)
        #expect(checker.cancelledCount > 5)
        #expect(checker.replacedCount > 100)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed)
        #expect(deadLetters.records.count >= checker.rejectedPositions.count)
        #expect(!checker.rejectedPositions.isEmpty)
    }

    @Test
    func
        `a scheduler that starts later, with files or without, fires waiting timers, and too late ones expire`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let firstStage = try await SchedulerStage(bed, directory: firstDirectory.path)
        let commands = try RecordWriter(on: bed, to: .schedules)
        // The second scheduler starts after the due time of the first two timers. The strict one must not fire late.
        var strict = schedule("strict", in: 2500)
        strict.latenessMillisecondsMax = 0
        commands.send(.schedule(strict), request: "strict")
        commands.send(.schedule(schedule("soon", in: 2500)), request: "soon")
        commands.send(.schedule(schedule("later", in: 9000)), request: "later")
        #expect(commands.finish())
        try await eventually("all requests have a reply") {
            try bed.replies().count == 3 || firstStage.failure != nil
        }
        await firstStage.stop()
        guard case .scheduled(let soon) = try bed.replies()["soon"] else {
            Issue.record("the timer was not scheduled")
            return
        }
        try await eventually("the timer is due") { WallTime.now().milliseconds > soon.dueAt + 10 }
        let secondStage = try await SchedulerStage(bed, directory: firstDirectory.path, after: firstStage)
        try await eventually("the timer fires") {
            try bed.timedSends().first?.id == "r-soon" || secondStage.failure != nil
        }
        try await eventually("the other timer has expired") { try bed.verdicts() == ["r-strict": [.expired]] }
        await secondStage.stop()
        // The third scheduler starts without files, as on another machine.
        let thirdStage = try await SchedulerStage(bed, directory: secondDirectory.path)
        try await eventually("the last timer fires") {
            try bed.timedSends().count == 2 || thirdStage.failure != nil
        }
        #expect(thirdStage.failure == nil)
        await thirdStage.stop()
        let checker = try SchedulerChecker(on: bed)
        #expect(checker.fault == nil, "\(checker.fault ?? "")")
    }

    @Test func `after a clock jump no timer fires until the clock is stable, and none fires twice`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let ahead = TracedLock<Int64>(0)
        let stage = try await SchedulerStage(
            bed, directory: directory.path,
            clock: { WallTime(milliseconds: WallTime.now().milliseconds + ahead.withLock { $0 }) },
            { $0.holdMilliseconds = 2000 })
        let commands = try RecordWriter(on: bed, to: .schedules)
        commands.send(.schedule(schedule("soon", in: 500)), request: "soon")
        #expect(commands.finish())
        try await eventually("the timer fires") { stage.firedCount == 1 || stage.failure != nil }
        commands.send(.schedule(schedule("later", in: 3000)), request: "later")
        #expect(commands.finish())
        try await eventually("the second request has a reply") { try bed.replies().count == 2 }
        ahead.withLock { $0 = 3_600_000 }
        try await eventually("the metric counts the jump") {
            stage.metric("flotilla_scheduler_clock_jumps_total") == 1 || stage.failure != nil
        }
        try await eventually("the second timer fires") { stage.firedCount == 2 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        let checker = try SchedulerChecker(on: bed)
        #expect(checker.fault == nil, "\(checker.fault ?? "")")
        #expect(checker.firedCount == 2)
    }

    @Test
    func `an automatic end ends only its own generation, and an update from before an end is not planned`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let stage = try await SchedulerStage(bed, directory: firstDirectory.path)
        let planner = FanOutService(
            FanOutSettings(), in: try bed.environment(under: secondDirectory.path), loops: [.planner],
            onPlannerStep: { _ in })
        try await planner.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        let sends = try RecordWriter(on: bed, to: .sends)
        func start(_ group: String, endsIn seconds: Int64) {
            var content = PushContent(.start)
            content.attributesType = "Match"
            (content.attributes, content.contentState) = (
                ScheduleCommandGenerator.contentState, ScheduleCommandGenerator.contentState
            )
            content.alert = Alert(title: .plain("Kick-off"))
            var send = Send(
                id: "start-" + group, app: "shop", group: group, audience: .everyone, content: content,
                priority: .immediate, acceptedAt: 1)
            send.endDate = WallTime.now().milliseconds / 1000 + seconds
            sends.write(key: send.scopeKey?.bytes, value: send.encoded())
        }
        // The match ends at its end date. The group "over" is ended by hand before its end date, which is late enough
        // for that, also on a busy machine. The starts follow one after the other, because a generation that is planned
        // and ended in one batch requests no end.
        for (count, (group, seconds)) in [("match", Int64(10)), ("over", 25)].enumerated() {
            start(group, endsIn: seconds)
            #expect(sends.finish())
            try await eventually("the planner requests an end of \(group)") {
                try TopicContent(of: .schedulesAuto, in: bed).records.count > count || stage.failure != nil
            }
        }
        let endByHand = Send(
            id: "by-hand", app: "shop", group: "over", audience: .group, content: PushContent(.end),
            priority: .immediate, acceptedAt: 1)
        let commands = try RecordWriter(on: bed, to: .schedules)
        var update = ScheduleCommandGenerator.makeSend(id: "update", user: "ben", at: 1)
        (update.group, update.audience) = ("over", .group)
        let command = ScheduleCommand(
            .schedule(Schedule(id: "u", dueTime: .offset(20_000), send: update)), app: "shop",
            owner: .group("over"), replyTo: .init(partition: 0, request: "u"), acceptedAt: 1)
        commands.write(key: command.key, value: command.encoded())
        #expect(commands.finish())
        try await eventually("the update is scheduled") {
            try bed.replies()["u"] != nil || stage.failure != nil
        }
        sends.write(key: endByHand.scopeKey?.bytes, value: endByHand.encoded())
        #expect(sends.finish())
        try await eventually("the match has ended at its date") {
            try bed.verdicts().contains { $0.key.hasPrefix("end-") && $0.value == [.planned] }
        }
        try await eventually("the update from before the end is outdated") {
            try bed.verdicts()["update"] == [.outdated]
        }
        // The other outdated send is the update.
        try await eventually("the automatic end of the generation that was ended by hand is outdated") {
            try bed.verdicts().values.count { $0 == [.outdated] } == 2
        }
        #expect(stage.failure == nil)
        await stage.stop()
        await planner.stop(by: Instant.now().advanced(byMilliseconds: 15_000))
        #expect(try bed.verdicts().keys.count { $0.hasPrefix("end-") } == 2)
    }
}
