import CatalogRecords
import FanOut
import FanOutTesting
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import StageSupport
import Telemetry
import Testing
import Topics

/// The planner on a real cluster: its output equals the model's, and each send has a verdict.
@Suite struct PlannerStageTests {
    @Test func `the limit on groups that only phones have named outlives the process and its files`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directories = [try TemporaryDirectory(), try TemporaryDirectory()]
        let writer = try RecordWriter(on: bed, to: .subscriptions)
        let (limit, groupsPerRun) = (3, 5)
        for (number, directory) in directories.enumerated() {
            for group in (0..<groupsPerRun).map({ "g\(number)-\($0)" }) {
                let subscription = Subscription(lane: 0, app: TestBed.app.id, group: group)
                writer.write(key: subscription.scopeKey.bytes, value: subscription.encoded())
            }
            #expect(writer.finish())
            let stage = try await PlannerStage(
                bed, directory: directory.path, { $0.subscribedGroupsMax = limit })
            try await eventually("the subscriptions are answered") {
                stage.handledCount == groupsPerRun || stage.failure != nil
            }
            #expect(stage.failure == nil)
            // The first run reaches the limit, so the second run stores no group.
            let unstored = stage.metric("flotilla_fan_out_unstored_subscriptions_total")
            #expect(Int(unstored) == (number == 0 ? groupsPerRun - limit : groupsPerRun))
            await stage.stop()
        }
        let rows = try TopicContent(of: .groups, in: bed).newestValues
        #expect(rows.count == limit + 1, "the groups, and their number")
        #expect(try bed.expansions().count == 2 * groupsPerRun, "each subscription has an answer")
    }

    @Test
    func `the output for sends equals the planner's, and records that are not sends become dead letters`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        var generator = SendGenerator(seed: UInt64.random(in: 0...9999))
        var random = SeededGenerator(seed: 7)
        let sender = try RecordWriter(on: bed, to: .sends)
        for number in 0..<2000 {
            if number % 100 == 7 {
                sender.write(key: Array("shop/poison".utf8), value: InvalidRecord.random(using: &random))
            } else if number % 100 == 9 {
                // This partition is not the one of the send's group.
                let request = generator.next()
                let rightPartition = Murmur2.partition(forKey: request.key.span, partitionCount: 4)
                sender.write(
                    key: request.key, value: request.value, partition: Int32((rightPartition + 1) % 4))
            } else {
                let request = generator.next()
                sender.write(key: request.key, value: request.value)
            }
        }
        #expect(sender.finish())
        try await eventually("all sends are handled") { stage.handledCount == 2000 || stage.failure != nil }
        try await eventually("no send is held") {
            try !TopicContent(of: .groups, in: bed).newestValues.values.contains { row in
                String(decoding: row, as: UTF8.self).contains("\"held\":")
            }
        }
        #expect(stage.failure == nil)
        #expect(stage.startOverCount == 0)
        await stage.stop()
        let model = try PlannerModel(sends: TopicContent(of: .sends, in: bed), lanes: 4)
        let fault = try model.fault(in: bed)
        #expect(fault == nil, "\(fault ?? "")")
        let deadLetters = try TopicContent(of: .deadLetters, in: bed)
        #expect(deadLetters.records.count == model.rejectedPositions.count)
        #expect(
            Set(deadLetters.records.compactMap { $0.headers["flotilla-dead-code"] }).contains(
                "wrong_partition"))
    }

    @Test func `each send has its verdict in the topic progress, and senders get notes`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .sends)
        var start = makeSend(.start, to: .everyone, id: "start")
        start.fingerprint = "f1"
        start.endDate = 4_000_000_000
        sender.send(start)
        sender.send(start)
        start.fingerprint = "f2"
        sender.send(start)
        var dryRun = makeSend(.update, id: "dry")
        dryRun.isDryRun = true
        sender.send(dryRun)
        sender.send(makeSend(.update, to: .users(["ben"]), id: "ben", state: 1))
        sender.send(makeSend(.update, id: "all", state: 2))
        sender.send(
            Cancellation(
                send: "all", app: "shop", key: ScopeKey(app: "shop", group: "match"), acceptedAt: 1))
        var sendOfUnknownApp = makeSend(.update, id: "stranger")
        sendOfUnknownApp.app = "unheard-of"
        sender.send(sendOfUnknownApp)
        sender.send(makeSend(.end, id: "end"))
        sender.send(makeSend(.update, id: "late"))
        #expect(sender.finish())
        try await eventually("all sends are handled") { stage.handledCount == 10 || stage.failure != nil }
        try await eventually("senders have the note") { try bed.notes().last?.endVersion ?? 0 > 0 }
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(
            try bed.verdicts() == [
                "start": [.planned, .conflict], "dry": [.planned], "ben": [.planned],
                "all": [.planned, .stopping], "all.undo": [.planned], "stranger": [.unknownApp],
                "end": [.planned], "late": [.ended],
            ])
        let expansions = try bed.expansions()
        func laneCount(of send: String) -> Int {
            expansions.count { record in
                guard case .expansion(let expansion) = record.request else { return false }
                return expansion.send == send
            }
        }
        for send in ["start", "all", "all.undo", "end"] {
            #expect(laneCount(of: send) == 3, "\(send)")
        }
        #expect(laneCount(of: "dry") == 3)
        #expect(laneCount(of: "ben") == 1)
        let stops = expansions.filter {
            if case .stop(let stop) = $0.request { stop.send == "all" } else { false }
        }
        #expect(Set(stops.map(\.lane)) == [0, 1, 2])
        let notes = try bed.notes()
        #expect(notes.last?.cancelledSends == ["all"])
        let schedules = try TopicContent(of: .schedulesAuto, in: bed).records
        #expect(schedules.count == 1)
        #expect(schedules.first?.key.map { String(decoding: $0, as: UTF8.self) } == "shop/g:match")
    }

    @Test func `timed sends of the scheduler are planned like sends of a gateway`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .sends)
        sender.send(makeSend(.start, to: .everyone, id: "start"))
        sender.send(makeSend(.end, id: "end"))
        #expect(sender.finish())
        try await eventually("both sends are handled") { stage.handledCount == 2 || stage.failure != nil }
        // The scheduler writes in transactions. The commit marker leaves a gap between the offsets.
        let scheduler = try TransactionalProducer(
            settings: bed.settings, transactionalID: bed.layout.prefix + "scheduler", name: "scheduler",
            log: .silent, metrics: stage.metrics)
        try scheduler.initialize()
        let topic = try scheduler.topic(named: bed.layout.name(of: .sendsTimed))
        var old = makeSend(.update, id: "old")
        old.scheduledAt = 1
        var new = makeSend(.start, to: .everyone, id: "new")
        new.scheduledAt = 4_000_000_000_000
        for timed in [old, new] {
            let key = timed.scopeKey!.bytes
            let partition = Int32(Murmur2.partition(forKey: key.span, partitionCount: 2))
            try scheduler.begin()
            _ = scheduler.send(to: topic, partition: partition, key: key.span, value: timed.encoded().span)
            try scheduler.commit()
        }
        try await eventually("the timed sends are handled") {
            stage.handledCount == 4 || stage.failure != nil
        }
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(stage.startOverCount == 0)
        let verdicts = try bed.verdicts()
        #expect(verdicts["old"] == [.outdated])
        #expect(verdicts["new"] == [.planned])
    }

    @Test
    func
        `a burst to one group gets verdicts at once, and its newest state is planned when the clock allows it`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .sends)
        for number in 0..<40 { sender.send(makeSend(.update, id: "u\(number)", state: number)) }
        #expect(sender.finish())
        try await eventually("the newest send is planned") { try bed.verdicts()["u39"]?.last == .planned }
        await stage.stop()
        let verdicts = try bed.verdicts()
        // The first sends run ahead of the clock, the last one is held, and those in between are superseded.
        #expect(verdicts["u0"] == [.planned])
        #expect(verdicts["u39"] == [.held, .planned])
        #expect(verdicts["u38"] == [.held, .superseded])
        #expect(verdicts.values.count { $0.last == .planned } < 20)
        #expect(try bed.notes().count == verdicts.values.count { $0.last == .planned })
    }

    @Test func `a large send that is never committed becomes a dead letter, and the next sends go on`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let settings = bed.settings
        let identity = try bed.environment(under: directory.path)
            .identity(of: FanOutService.name, loop: FanOutService.Loop.planner.rawValue)
        let sender = try RecordWriter(on: bed, to: .sends)
        let users = (0..<5000).map { String(repeating: "u", count: 150) + "\($0)" }
        var large = makeSend(.update, to: .users(users), id: "large")
        large.fingerprint = "f"
        sender.send(large)
        for number in 0..<3 { sender.send(makeSend(.update, id: "small\(number)", state: number)) }
        #expect(sender.finish())
        // Every transaction fails until the send is a dead letter. It comes first, so each of them takes it. Two more
        // fail after that, and the send is read and rejected again.
        let metrics = Metrics()
        let transactionsAfterLetter = TracedLock(0)
        let stage = try await PlannerStage(
            bed, directory: directory.path, { $0.loneSendTriesMax = 2 }, metrics: metrics,
            onStep: { step in
                guard step == .progressSent else { return }
                let letterCount = PlannerStage.value(
                    of: "flotilla_fan_out_dead_letters_total{loop=\"planner\",code=\"never_committed\"}",
                    in: metrics)
                let mustRefuse =
                    letterCount == 0
                    || transactionsAfterLetter.withLock { count in
                        count += 1
                        return count <= 2
                    }
                guard mustRefuse else { return }
                // Takes over the stage's transactional id, so that its transaction is refused.
                let other = try? TransactionalProducer(
                    settings: settings, transactionalID: identity, name: "other", log: .silent,
                    metrics: Metrics())
                try? other?.initialize()
            })
        try await eventually("all sends are handled") { stage.handledCount == 4 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        #expect(transactionsAfterLetter.withLock { $0 } > 2)
        let letters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(letters.compactMap { $0.headers["flotilla-dead-code"] } == ["never_committed"])
        #expect(letters.first?.value == large.encoded())
        let verdicts = try bed.verdicts()
        #expect(verdicts["large"] == [.refused])
        for number in 0..<3 { #expect(verdicts["small\(number)"]?.last == .planned) }
    }
}
