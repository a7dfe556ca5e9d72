import FanOut
import IngestTesting
import KafkaTesting
import Lifecycle
import LiveActivity
import ProcessTesting
import Scheduler
import SchedulerTesting
import Simulation
import Stages
import Telemetry
import Testing
import Topics

private func schedule(_ id: String, activity: String? = nil, in milliseconds: Int64) -> Schedule {
    var send = OrderMix.makeSend("r-" + id, user: "ben", at: 1)
    send.owner = .user("ben")
    return Schedule(id: id, activity: activity, .offset(milliseconds), send)
}

@Suite struct SchedulerStageTests {
    @Test func `what was scheduled goes at its time, and what was taken back does not`() async throws {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let sender = try ReportSender(bed, to: .schedules)
        // The simplest of Teak's: one of three chests stays.
        for (number, activity) in ["chest_0", "chest_0", "chest_1"].enumerated() {
            sender.send(
                .schedule(schedule("s\(number)", activity: activity, in: 6000)), request: "s\(number)")
        }
        sender.send(.cancel(.activity("chest_0")), request: "cancel")
        sender.send(.cancel(.activity("chest_0")), user: "ada", request: "other")
        sender.send(.list(10), request: "list")
        #expect(sender.finish())
        try await eventually("all are answered") { try bed.answers().count == 6 || stage.failure != nil }
        let answers = try bed.answers()
        #expect(answers["cancel"] == .canceled(2, tooLate: 0))
        #expect(answers["other"] == .canceled(0, tooLate: 0))
        guard case .scheduled(let promised) = answers["s2"], case .listed(let listed, true) = answers["list"]
        else {
            Issue.record("\(answers)")
            return
        }
        #expect(listed.map(\.id) == ["s2"])
        try await eventually("the third goes") { try !bed.timedSends().isEmpty || stage.failure != nil }
        sender.send(.cancel(.activity("chest_1")), request: "late")
        #expect(sender.finish())
        try await eventually("it is too late") { try bed.answers()["late"] == .canceled(0, tooLate: 1) }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerJudge(bed)
        #expect(judge.fault == nil, "\(judge.fault ?? "")")
        let sends = try bed.timedSends()
        #expect(sends.map(\.id) == ["r-s2"] && sends[0].acceptedAt == promised.dueAt)
        #expect(try bed.verdicts() == ["r-s0": [.cancelled], "r-s1": [.cancelled]])
        #expect(stage.metric("flotilla_scheduler_lateness_seconds_count") == 1)
    }

    @Test(arguments: [nil, UInt64(5)])
    func `each order is answered once and each timer has one fate, also in Kafka's weather`(weather: UInt64?)
        async throws
    {
        let cluster = try weather.map { try TestCluster(weather: $0) } ?? TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await SchedulerStage(bed, directory: directory.path)
        let sender = try ReportSender(bed, to: .schedules)
        var mix = OrderMix(seed: UInt64.random(in: 0...9999), partitions: bed.layout.partitions(.replies))
        var chance = SeededGenerator(7)
        var orders = 0
        for number in 0..<2000 {
            if number % 100 == 7 {
                sender.send(key: Array("shop/poison".utf8), value: Poison.any(&chance))
            } else {
                let order = mix.next(at: WallTime.now().milliseconds)
                sender.send(key: order.key, value: order.encoded())
                orders += 1
            }
        }
        #expect(sender.finish())
        try await eventually("no timer waits") {
            if stage.failure != nil { return true }
            // First: what an order that is still to be read would enter is not there yet.
            guard try bed.answers().count == orders else { return false }
            let rows = try TopicContent(.timers, bed).newest.keys
            return rows.allSatisfy { key in key.withUnsafeBytes { SeenOrder.isKey($0) } }
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerJudge(bed)
        #expect(judge.fault == nil, "\(judge.fault ?? "")")
        #expect(judge.fired > 100 && judge.canceled > 5 && judge.replaced > 100)
        let letters = try TopicContent(.deadLetters, bed)
        #expect(letters.records.count >= judge.misfits.count && !judge.misfits.isEmpty)
    }

    @Test
    func `who comes after a stop, with files or without, fires what waits, and what is too late expires`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 2)
        let (one, two) = (try TemporaryDirectory(), try TemporaryDirectory())
        let first = try await SchedulerStage(bed, directory: one.path)
        let sender = try ReportSender(bed, to: .schedules)
        var strict = schedule("strict", in: 2500)
        strict.latenessMax = 0
        sender.send(.schedule(strict), request: "strict")
        sender.send(.schedule(schedule("soon", in: 2500)), request: "soon")
        sender.send(.schedule(schedule("later", in: 9000)), request: "later")
        #expect(sender.finish())
        try await eventually("all are answered") { try bed.answers().count == 3 || first.failure != nil }
        await first.stop()
        guard case .scheduled(let soon) = try bed.answers()["soon"] else {
            Issue.record("it was not scheduled")
            return
        }
        try await eventually("it is due") { WallTime.now().milliseconds > soon.dueAt + 10 }
        let second = try await SchedulerStage(bed, directory: one.path, after: first)
        try await eventually("it goes") {
            try bed.timedSends().first?.id == "r-soon" || second.failure != nil
        }
        try await eventually("the other one has expired") { try bed.verdicts() == ["r-strict": [.expired]] }
        await second.stop()
        // Without files, and on a machine of its own.
        let third = try await SchedulerStage(bed, directory: two.path)
        try await eventually("the last goes") { try bed.timedSends().count == 2 || third.failure != nil }
        #expect(third.failure == nil)
        await third.stop()
        let judge = try SchedulerJudge(bed)
        #expect(judge.fault == nil || judge.fault == "r-strict expired", "\(judge.fault ?? "")")
    }

    @Test func `a machine whose clock jumps fires nothing until it has stood still, and nothing twice`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let ahead = TracedLock<Int64>(0)
        let stage = try await SchedulerStage(
            bed, directory: directory.path,
            clock: { WallTime(milliseconds: WallTime.now().milliseconds + ahead.withLock { $0 }) },
            { $0.holdMilliseconds = 2000 })
        let sender = try ReportSender(bed, to: .schedules)
        sender.send(.schedule(schedule("soon", in: 500)), request: "soon")
        #expect(sender.finish())
        try await eventually("it goes") { stage.fired == 1 || stage.failure != nil }
        sender.send(.schedule(schedule("later", in: 3000)), request: "later")
        #expect(sender.finish())
        try await eventually("it is answered") { try bed.answers().count == 2 }
        ahead.withLock { $0 = 3_600_000 }
        try await eventually("people are told") {
            stage.metric("flotilla_scheduler_clock_jumps_total") == 1 || stage.failure != nil
        }
        try await eventually("it goes in the end") { stage.fired == 2 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        let judge = try SchedulerJudge(bed)
        #expect(judge.fault == nil && judge.fired == 2, "\(judge.fault ?? "")")
    }

    @Test
    func `a group ends by itself at its date, one life alone, and what is older than its end goes no more`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 3)
        let (one, two) = (try TemporaryDirectory(), try TemporaryDirectory())
        let stage = try await SchedulerStage(bed, directory: one.path)
        let planner = FanOutService(
            FanOutSettings(), in: try bed.environment(under: two.path), loops: [.planner],
            onPlannerStep: { _ in })
        try await planner.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        let sends = try ReportSender(bed, to: .sends)
        func start(_ group: String, endsIn seconds: Int64) {
            var content = PushContent(.start)
            content.attributesType = "Match"
            (content.attributes, content.contentState) = (OrderMix.object, OrderMix.object)
            content.alert = Alert(title: .plain("Kick-off"))
            var send = Send(
                id: "start-" + group, app: "shop", group: group, audience: .everyone, content: content,
                priority: 10, acceptedAt: 1)
            send.endDate = WallTime.now().milliseconds / 1000 + seconds
            sends.send(key: send.groupKey?.bytes, value: send.encoded())
        }
        // One after the other: a life that is planned and ended at one go asks for no end, and the second's date is far
        // enough behind its own asking that it is ended by hand before, also on a busy machine.
        for (count, (group, seconds)) in [("match", Int64(10)), ("over", 25)].enumerated() {
            start(group, endsIn: seconds)
            #expect(sends.finish())
            try await eventually("an end of \(group) is asked for") {
                try TopicContent(.schedulesAuto, bed).records.count > count || stage.failure != nil
            }
        }
        let end = Send(
            id: "by-hand", app: "shop", group: "over", audience: .group, content: PushContent(.end),
            priority: 10,
            acceptedAt: 1)
        let orders = try ReportSender(bed, to: .schedules)
        var update = OrderMix.makeSend("update", user: "ben", at: 1)
        (update.group, update.audience) = ("over", .group)
        let order = ScheduleOrder(
            .schedule(Schedule(id: "u", .offset(20_000), update)), app: "shop", owner: .group("over"),
            replyTo: .init(partition: 0, request: "u"), acceptedAt: 1)
        orders.send(key: order.key, value: order.encoded())
        #expect(orders.finish())
        try await eventually("it is scheduled") { try bed.answers()["u"] != nil || stage.failure != nil }
        sends.send(key: end.groupKey?.bytes, value: end.encoded())
        #expect(sends.finish())
        try await eventually("the match has ended by itself") {
            try bed.verdicts().contains { $0.key.hasPrefix("end-") && $0.value == [.planned] }
        }
        try await eventually("what is older than the end is not planned") {
            try bed.verdicts()["update"] == [.outdated]
        }
        try await eventually("the life that was ended by hand is not ended again") {
            try bed.verdicts().values.count { $0 == [.outdated] } == 2
        }
        #expect(stage.failure == nil)
        await stage.stop()
        await planner.stop(by: Instant.now().advanced(byMilliseconds: 15_000))
        #expect(try bed.verdicts().keys.count { $0.hasPrefix("end-") } == 2)
    }
}
