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

/// A planner that takes over a partition: it knows the work that its predecessor left.
@Suite struct PlannerTakeoverTests {
    @Test
    func
        `a process without files continues where another stopped, knows the held send, and sends notes again`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let sender = try RecordWriter(on: bed, to: .sends)
        let firstStage = try await PlannerStage(bed, directory: firstDirectory.path)
        // All lanes get the sends to a group that was started for an audience.
        sender.send(makeSend(.start, to: .everyone, group: "started", id: "start"))
        let groups = 300 * trialCount(base: 1)
        for number in 0..<groups { sender.send(makeSend(.update, group: "m\(number)", id: "s\(number)")) }
        #expect(sender.finish())
        try await eventually("all sends are handled") {
            firstStage.handledCount == groups + 1 || firstStage.failure != nil
        }
        for number in 0..<7 {
            sender.send(makeSend(.update, group: "burst", id: "b\(number)", state: number))
        }
        #expect(sender.finish())
        try await eventually("the burst is handled") {
            firstStage.handledCount == groups + 8 || firstStage.failure != nil
        }
        await firstStage.stop()
        let notes = try bed.notes().count
        let secondStage = try await PlannerStage(bed, directory: secondDirectory.path)
        try await eventually("the held send is planned") { try bed.verdicts()["b6"]?.last == .planned }
        try await eventually("senders have the notes again") { try bed.notes().count >= notes + groups }
        try await eventually("the planner is ready") { secondStage.readinessProblems.isEmpty }
        #expect(secondStage.failure == nil)
        sender.send(makeSend(.update, group: "started", id: "again"))
        #expect(sender.finish())
        try await eventually("the planner continues") { try bed.verdicts()["again"]?.last == .planned }
        await secondStage.stop()
        for note in try bed.notes() { #expect(note.updateVersion > 0) }
        // Each of the two sends to the group goes to both lanes. The second planner gives another version than the
        // first one.
        var versions: [Int64] = []
        for case .expansion(let expansion) in try bed.expansions().map(\.request)
        where expansion.key.group == "started" { versions.append(expansion.version) }
        #expect(versions.count == 4 && Set(versions).count == 2)
    }

    @Test
    func `a send that the last planner held is planned even if its row changes before the walk finds it`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let sender = try RecordWriter(on: bed, to: .sends)
        let firstStage = try await PlannerStage(bed, directory: firstDirectory.path)
        for number in 0..<7 {
            sender.send(makeSend(.update, group: "burst", id: "b\(number)", state: number))
        }
        #expect(sender.finish())
        try await eventually("the burst is handled") {
            firstStage.handledCount == 7 || firstStage.failure != nil
        }
        await firstStage.stop()
        // There are many pages of rows before the burst's row, and the first pages wait for the cancel. So
        // the cancel is planned before the walk reaches that row. On a very busy machine it may not be; then
        // this tests the simple case.
        try bed.writeGroups(
            (0..<20 * ViewScan.rowsMax).map { number in
                var row = GroupRow()
                row.lastSendAt = WallTime.now().milliseconds
                row.version = 5
                return ("a\(number)", row)
            })
        let key = ScopeKey(app: "shop", group: "burst")
        let cancellation = Cancellation(send: "b0", app: "shop", key: key, acceptedAt: 1_763_600_000_000)
        sender.write(key: key.bytes, value: cancellation.encoded())
        #expect(sender.finish())
        let progress = TracedLock(CancelProgress())
        let neverRaised = ThreadSignal()
        let secondStage = try await PlannerStage(
            bed, directory: secondDirectory.path,
            onStep: { step in
                switch step {
                case .batchRead:
                    // The open transaction hides the cancel's row from the view.
                    progress.withLock {
                        $0.openTransaction =
                            $0.openTransaction ?? (try? OpenTransaction(on: bed, topic: .groups))
                    }
                case .overlayUpdated:
                    progress.withLock { $0.isCancelPlanned = $0.openTransaction != nil }
                case .pageScanned:
                    if progress.withLock({ $0.isCancelPlanned }) { return }
                    // The walk waits for the cancel: a quarter of a second after each page.
                    _ = neverRaised.wait(until: Instant.now().advanced(byMilliseconds: 250))
                default: break
                }
            })
        try await eventually("the held send is planned", seconds: 60) {
            try bed.verdicts()["b6"]?.last == .planned || secondStage.failure != nil
        }
        #expect(secondStage.failure == nil)
        try progress.withLock { $0.openTransaction }?.abort()
        await secondStage.stop()
    }

    @Test func `two processes share the partitions, and a process that stops leaves no work behind`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let sender = try RecordWriter(on: bed, to: .sends)
        var generator = SendGenerator(seed: 3)
        func send(_ count: Int) {
            for _ in 0..<count {
                let request = generator.next()
                sender.write(key: request.key, value: request.value)
            }
        }
        send(200)
        let firstStage = try await PlannerStage(bed, directory: firstDirectory.path)
        send(200)
        let secondStage = try await PlannerStage(bed, directory: secondDirectory.path)
        send(200)
        try await eventually("both processes have partitions and handle sends") {
            send(1)
            return secondStage.handledCount > 0
        }
        await firstStage.stop()
        send(200)
        #expect(sender.finish())
        try await eventually("all sends are committed and no send is held") {
            try bed.isEverythingRead(by: "planner", in: [.sends])
                && !TopicContent(of: .groups, in: bed).newestValues.values.contains { row in
                    String(decoding: row, as: UTF8.self).contains("\"held\":")
                }
        }
        await secondStage.stop()
        #expect(firstStage.failure == nil && secondStage.failure == nil)
        let fault = try PlannerModel(sends: TopicContent(of: .sends, in: bed), lanes: 4).fault(in: bed)
        #expect(fault == nil, "\(fault ?? "")")
    }

    @Test func `a planner gets all partitions after a version that read fewer topics`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let loop = FanOutService.Loop.planner.rawValue
        try joinAndStop(
            bed,
            as: bed.environment(under: directory.path).membership(
                of: FanOutService.name, loop: loop, in: "planner",
                reading: TopicSubscription(topics: [.sends, .sendsTimed])))
        let stage = try await PlannerStage(bed, directory: directory.path)
        let sender = try RecordWriter(on: bed, to: .sends)
        for number in 0..<4 { sender.send(makeSend(.update, group: "m\(number)", id: "s\(number)")) }
        #expect(sender.finish())
        try await eventually("all sends are planned", seconds: 60) {
            stage.handledCount == 4 || stage.failure != nil
        }
        try await eventually("the planner is ready") { stage.readinessProblems.isEmpty }
        #expect(stage.failure == nil)
        await stage.stop()
    }

    @Test func `a member that reads other topics under the same name leaves no partition without a reason`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let loop = FanOutService.Loop.planner.rawValue
        let environment = try bed.environment(under: directory.path)
        // No version does this: the number of the subscription belongs to its topics.
        try joinAndStop(
            bed,
            as: environment.membership(
                of: FanOutService.name, loop: loop, in: "planner",
                reading: TopicSubscription(topics: [.sends, .sendsTimed], number: 1)))
        let stage = try await PlannerStage(in: environment)
        try await eventually("the partitions that wait are named") {
            stage.readinessProblems.contains {
                $0.contains("without those of \(bed.layout.name(of: .subscriptions)): 0, 1;")
            }
        }
        #expect(stage.failure == nil)
        await stage.stop()
    }

    @Test func `rows beyond their retention are deleted by the cluster's time`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let now = WallTime.now().milliseconds
        var old = GroupRow()
        old.lastSendAt = now - GroupRow.retentionMilliseconds - 60_000
        old.version = 5
        var young = old
        young.lastSendAt = now - GroupRow.retentionMilliseconds + 600_000
        var idempotencyRows: [(id: String, row: SendIdempotencyRow)] = []
        for (id, at) in [
            ("old", now - Idempotency.retentionMilliseconds - 60_000), ("young", now - 60_000),
        ] {
            idempotencyRows.append((id, SendIdempotencyRow(fingerprint: "f", writtenAt: at)))
        }
        try bed.writeGroups([("old", old), ("young", young)], idempotencyRows: idempotencyRows)
        let stage = try await PlannerStage(bed, directory: directory.path) { $0.sweepMilliseconds = 1000 }
        let sender = try RecordWriter(on: bed, to: .sends)
        sender.send(makeSend(.update, id: "s"))
        #expect(sender.finish())
        try await eventually("the old rows are deleted") {
            try TopicContent(of: .groups, in: bed).newestValues.keys.count == 3
        }
        let remainingKeys = try TopicContent(of: .groups, in: bed).newestValues.keys.map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(remainingKeys.sorted() == ["/shop/young", "shop/match", "shop/young"])
        // A deleted group starts as a new one.
        sender.send(makeSend(.end, group: "old", id: "t"))
        #expect(sender.finish())
        try await eventually("the planner continues") { try bed.verdicts()["t"] == [.planned] }
        await stage.stop()
        #expect(stage.failure == nil)
    }
}

/// Joins the group of a membership until it has partitions, and stops. A static member stays in its group.
private func joinAndStop(_ bed: TestBed, as membership: ConsumerOptions.Membership) throws {
    var options = ConsumerOptions(membership: membership)
    options.sessionMilliseconds = 6000
    let member = try Consumer(
        settings: bed.settings, options: options, name: "before", log: .silent, metrics: Metrics())
    var batch = RecordBatch()
    var isMember = false
    let deadline = Instant.now().advanced(byMilliseconds: 30_000)
    while !isMember, Instant.now() < deadline {
        for case .offered(let partitions) in member.poll(into: &batch, waitMilliseconds: 20) {
            try member.assignPaused(partitions)
            isMember = true
        }
    }
    try #require(isMember)
    #expect(member.close())
}

/// The progress of a cancel that is planned while the walk waits after each page.
private struct CancelProgress {
    var openTransaction: OpenTransaction?
    var isCancelPlanned = false
}

extension TestBed {
    /// Writes rows as an earlier planner would have.
    fileprivate func writeGroups(
        _ groups: [(name: String, row: GroupRow)],
        idempotencyRows: [(id: String, row: SendIdempotencyRow)] = []
    ) throws {
        let planner = try TransactionalProducer(
            settings: settings, transactionalID: layout.prefix + "before", name: "before", log: .silent,
            metrics: .init())
        try planner.initialize()
        let topic = try planner.topic(named: layout.name(of: .groups))
        let rows =
            groups.map { (ScopeKey(app: "shop", group: $0.name).bytes, $0.row.encoded()) }
            + idempotencyRows.map { (SendIdempotencyRow.key(app: "shop", send: $0.id), $0.row.encoded()) }
        for batch in stride(from: 0, to: rows.count, by: 10_000) {
            try planner.begin()
            for (key, value) in rows[batch..<min(rows.count, batch + 10_000)] {
                #expect(planner.send(to: topic, partition: 0, key: key.span, value: value.span) == .queued)
            }
            try planner.commit()
        }
    }
}
