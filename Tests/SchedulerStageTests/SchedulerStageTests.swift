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

private func schedule(_ id: String, activity: String? = nil, in milliseconds: Int64) -> Schedule {
    var send = ScheduleCommandGenerator.makeSend(id: "r-" + id, user: "ben", at: 1)
    send.owner = .user("ben")
    return Schedule(id: id, activity: activity, dueTime: .offset(milliseconds), send: send)
}

@Suite struct SchedulerStageTests {
    @Test func `a scheduled send fires at its time, and a cancelled one does not`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .schedules)
        // Teak's simplest case: one of three chests stays.
        for (number, activity) in ["chest_0", "chest_0", "chest_1"].enumerated() {
            sender.send(
                .schedule(schedule("s\(number)", activity: activity, in: 6000)), request: "s\(number)")
        }
        sender.send(.cancel(.activity("chest_0")), request: "cancel")
        sender.send(.cancel(.activity("chest_0")), user: "ada", request: "other")
        sender.send(.list(10), request: "list")
        #expect(sender.finish())
        try await eventually("all requests have an answer") {
            try bed.answers().count == 6 || stage.failure != nil
        }
        let answers = try bed.answers()
        #expect(answers["cancel"] == .cancelled(2, tooLate: 0))
        #expect(answers["other"] == .cancelled(0, tooLate: 0))
        guard case .scheduled(let promised) = answers["s2"], case .listed(let listed, true) = answers["list"]
        else {
            Issue.record("\(answers)")
            return
        }
        #expect(listed.map(\.id) == ["s2"])
        try await eventually("the third timer fires") {
            try !bed.timedSends().isEmpty || stage.failure != nil
        }
        sender.send(.cancel(.activity("chest_1")), request: "late")
        #expect(sender.finish())
        try await eventually("the cancel is too late") {
            try bed.answers()["late"] == .cancelled(0, tooLate: 1)
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerChecker(on: bed)
        #expect(judge.fault == nil, "\(judge.fault ?? "")")
        let sends = try bed.timedSends()
        #expect(sends.map(\.id) == ["r-s2"] && sends[0].acceptedAt == promised.dueAt)
        #expect(try bed.verdicts() == ["r-s0": [.cancelled], "r-s1": [.cancelled]])
        #expect(stage.metric("flotilla_scheduler_lateness_seconds_count") == 1)
    }

    @Test(arguments: [nil, UInt64(5)])
    func `each order has one answer and each timer one fate, also under Kafka's faults`(weather: UInt64?)
        async throws
    {
        let cluster = try weather.map { try TestCluster(delaySeed: $0) } ?? TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .schedules)
        var mix = ScheduleCommandGenerator(
            seed: UInt64.random(in: 0...9999), partitions: bed.layout.partitionCount(of: .replies))
        var chance = SeededGenerator(seed: 7)
        var orders = 0
        for number in 0..<2000 {
            if number % 100 == 7 {
                sender.write(key: Array("shop/poison".utf8), value: InvalidRecord.random(using: &chance))
            } else {
                let order = mix.next(at: WallTime.now().milliseconds)
                sender.write(key: order.key, value: order.encoded())
                orders += 1
            }
        }
        #expect(sender.finish())
        try await eventually("no timer waits") {
            if stage.failure != nil { return true }
            // An order that is not read yet has not entered its timer. So the answers are checked first.
            guard try bed.answers().count == orders else { return false }
            let rows = try TopicContent(of: .timers, in: bed).newestValues.keys
            return rows.allSatisfy { key in key.withUnsafeBytes { ScheduleIdempotencyRow.isKey($0) } }
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerChecker(on: bed)
        #expect(judge.fault == nil, "\(judge.fault ?? "")")
        #expect(judge.firedCount > 100 && judge.cancelledCount > 5 && judge.replacedCount > 100)
        let letters = try TopicContent(of: .deadLetters, in: bed)
        #expect(letters.records.count >= judge.rejectedPositions.count && !judge.rejectedPositions.isEmpty)
    }

    @Test
    func
        `a scheduler that starts later, with files or without, fires waiting timers, and too late ones expire`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let (one, two) = (try TemporaryDirectory(), try TemporaryDirectory())
        let first = try await SchedulerStage(bed, directory: one.path)
        let sender = try RecordWriter(on: bed, to: .schedules)
        var strict = schedule("strict", in: 2500)
        strict.latenessMillisecondsMax = 0
        sender.send(.schedule(strict), request: "strict")
        sender.send(.schedule(schedule("soon", in: 2500)), request: "soon")
        sender.send(.schedule(schedule("later", in: 9000)), request: "later")
        #expect(sender.finish())
        try await eventually("all requests have an answer") {
            try bed.answers().count == 3 || first.failure != nil
        }
        await first.stop()
        guard case .scheduled(let soon) = try bed.answers()["soon"] else {
            Issue.record("the timer was not scheduled")
            return
        }
        try await eventually("the timer is due") { WallTime.now().milliseconds > soon.dueAt + 10 }
        let second = try await SchedulerStage(bed, directory: one.path, after: first)
        try await eventually("the timer fires") {
            try bed.timedSends().first?.id == "r-soon" || second.failure != nil
        }
        try await eventually("the other timer has expired") { try bed.verdicts() == ["r-strict": [.expired]] }
        await second.stop()
        // The third scheduler starts without files, as on another machine.
        let third = try await SchedulerStage(bed, directory: two.path)
        try await eventually("the last timer fires") {
            try bed.timedSends().count == 2 || third.failure != nil
        }
        #expect(third.failure == nil)
        await third.stop()
        let judge = try SchedulerChecker(on: bed)
        #expect(judge.fault == nil || judge.fault == "r-strict expired", "\(judge.fault ?? "")")
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
        let sender = try RecordWriter(on: bed, to: .schedules)
        sender.send(.schedule(schedule("soon", in: 500)), request: "soon")
        #expect(sender.finish())
        try await eventually("the timer fires") { stage.fired == 1 || stage.failure != nil }
        sender.send(.schedule(schedule("later", in: 3000)), request: "later")
        #expect(sender.finish())
        try await eventually("the second request has an answer") { try bed.answers().count == 2 }
        ahead.withLock { $0 = 3_600_000 }
        try await eventually("the metric counts the jump") {
            stage.metric("flotilla_scheduler_clock_jumps_total") == 1 || stage.failure != nil
        }
        try await eventually("the second timer fires") { stage.fired == 2 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerChecker(on: bed)
        #expect(judge.fault == nil && judge.firedCount == 2, "\(judge.fault ?? "")")
    }

    @Test
    func `a group ends at its date in one generation only, and an update from before the end is not planned`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let (one, two) = (try TemporaryDirectory(), try TemporaryDirectory())
        let stage = try await SchedulerStage(bed, directory: one.path)
        let planner = FanOutService(
            FanOutSettings(), in: try bed.environment(under: two.path), loops: [.planner],
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
        // The starts follow one after the other. A generation that is planned and ended in one batch asks for
        // no end. The second end date is late enough that the test can end the group by hand before it, also
        // on a busy machine.
        for (count, (group, seconds)) in [("match", Int64(10)), ("over", 25)].enumerated() {
            start(group, endsIn: seconds)
            #expect(sends.finish())
            try await eventually("the planner asks for an end of \(group)") {
                try TopicContent(of: .schedulesAuto, in: bed).records.count > count || stage.failure != nil
            }
        }
        let end = Send(
            id: "by-hand", app: "shop", group: "over", audience: .group, content: PushContent(.end),
            priority: .immediate,
            acceptedAt: 1)
        let orders = try RecordWriter(on: bed, to: .schedules)
        var update = ScheduleCommandGenerator.makeSend(id: "update", user: "ben", at: 1)
        (update.group, update.audience) = ("over", .group)
        let order = ScheduleCommand(
            .schedule(Schedule(id: "u", dueTime: .offset(20_000), send: update)), app: "shop",
            owner: .group("over"),
            replyTo: .init(partition: 0, request: "u"), acceptedAt: 1)
        orders.write(key: order.key, value: order.encoded())
        #expect(orders.finish())
        try await eventually("the update is scheduled") {
            try bed.answers()["u"] != nil || stage.failure != nil
        }
        sends.write(key: end.scopeKey?.bytes, value: end.encoded())
        #expect(sends.finish())
        try await eventually("the match has ended at its date") {
            try bed.verdicts().contains { $0.key.hasPrefix("end-") && $0.value == [.planned] }
        }
        try await eventually("the update from before the end is outdated") {
            try bed.verdicts()["update"] == [.outdated]
        }
        try await eventually("the generation that was ended by hand is not ended again") {
            try bed.verdicts().values.count { $0 == [.outdated] } == 2
        }
        #expect(stage.failure == nil)
        await stage.stop()
        await planner.stop(by: Instant.now().advanced(byMilliseconds: 15_000))
        #expect(try bed.verdicts().keys.count { $0.hasPrefix("end-") } == 2)
    }
}
