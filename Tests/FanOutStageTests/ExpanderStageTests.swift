import FanOut
import FanOutTesting
import Foundation
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import Kafka
import KafkaTesting
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import StageSupport
import Telemetry
import Testing
import TokenSealing
import Topics

/// The expander on a real cluster. It writes each job once, with failed transactions, lost files and wrong clocks.
@Suite struct ExpanderStageTests {
    private static let startOversMetric = "flotilla_fan_out_started_over_total{loop=\"expander\"}"

    private func update(_ number: Int64, send: String? = nil, group: String = "match") -> Expansion {
        ExpanderTestBed.makeExpansion(
            of: .update, group: group, send: send ?? "u\(number)",
            version: ExpanderTestBed.firstVersion + number)
    }

    /// Stops the stage after all expansions are closed.
    private func stop(_ stage: ExpanderStage, after fact: String, in expanderBed: ExpanderTestBed)
        async throws
    {
        try await eventually(fact) { expanderBed.isEverythingClosed() || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
    }

    @Test func `a send to a group gives one job per token, on sheets, and each lane closes it`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        var tokens: Set<String> = []
        for number in 0..<500 {
            tokens.insert(
                expanderBed.writeToken(
                    of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match"))
        }
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path, { $0.jobsPerSheet = 20 })
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.count == 500)
        #expect(Set(jobs.map(\.token)) == tokens)
        #expect(Set(jobs.map(\.body)).count == 1)
        let sheets = try TopicContent(of: .jobs, in: bed).records.count
        #expect(sheets >= 500 / 20 && sheets < 500)
        let tallies = try ExpanderTestBed.tallies(of: "u1", in: bed)
        #expect(tallies.count == 4 && tallies.reduce(0) { $0 + $1.expanded } == 500)
    }

    @Test func `a lane subscribes to the groups of the phones that it knew before its first start`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        var expected: Set<String> = []
        for number in 0..<300 {
            let installation = "p\(number)"
            _ = expanderBed.writeToken(
                of: installation, entry: .update(activity: "a\(number)"), group: "g\(number)")
            expected.insert("g\(number) in \(expanderBed.lane(of: .installation(installation)))")
        }
        #expect(expanderBed.finish())
        func subscriptions() throws -> [String] {
            try TopicContent(of: .subscriptions, in: bed).records.map { record in
                let request = try SendRequest.decode(record.value ?? [], with: JSONReader())
                guard case .subscription(let subscription) = request else { return "not a subscription" }
                return "\(subscription.group) in \(subscription.lane)"
            }
        }
        for _ in 0..<2 {
            let stage = try await ExpanderStage(bed, directory: directory.path)
            try await eventually("every group is subscribed") {
                try Set(subscriptions()) == expected || stage.failure != nil
            }
            #expect(stage.failure == nil)
            await stage.stop()
        }
        #expect(try subscriptions().count == expected.count, "each lane subscribes once")
    }

    @Test func `a lane that has all users of a list with the maximum length can read it`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let token = expanderBed.writeToken(of: "p7", entry: .update(activity: "a7"), group: "match")
        var list = update(1)
        list.targets = .recipients(
            (0..<Audience.namesMax).map {
                .init(
                    .installation("p\($0)"), scope: .recipient, generation: list.generation,
                    version: list.version)
            })
        expanderBed.write(list)
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path)
        try await stop(stage, after: "the list is expanded", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).map(\.token) == [token])
    }

    @Test(arguments: [
        ExpanderStep.transactionBegun, .jobsSent, .scopeRowsSent, .progressSent, .continuationsSent,
        .offsetsSent,
    ])
    func `a transaction that fails at any step causes one start over, and each token gets one job`(
        step: ExpanderStep
    ) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<4000 { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .start, group: "match", send: "s", version: ExpanderTestBed.firstVersion,
                generation: ExpanderTestBed.firstVersion))
        #expect(expanderBed.finish())
        let occurrences = TracedLock(0)
        let settings = bed.settings
        let identity = try bed.environment(under: directory.path).identity(
            of: FanOutService.name, loop: FanOutService.Loop.expander.rawValue)
        let stage = try await ExpanderStage(
            bed, directory: directory.path,
            {
                $0.sessionMilliseconds = 45_000
                $0.pageRowsMax = 500
            },
            onStep: { reachedStep in
                guard reachedStep == step else { return }
                let isSecond = occurrences.withLock { occurrences in
                    occurrences += 1
                    return occurrences == 2
                }
                // Takes over the stage's transactional id, so that its transaction is refused.
                if isSecond {
                    let otherProducer = try? TransactionalProducer(
                        settings: settings, transactionalID: identity, name: "other", log: .silent,
                        metrics: Metrics())
                    try? otherProducer?.initialize()
                }
            })
        try await eventually("all sends are expanded") {
            expanderBed.isEverythingClosed() || stage.failure != nil
        }
        #expect(stage.failure == nil)
        #expect(stage.metric(Self.startOversMetric) == 1)
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.count == 4000 && Set(jobs.map(\.token)).count == 4000)
        // Only the key of a ledger row has four slashes.
        let ledgerRows = try TopicContent(of: .starts, in: bed).newestValues.keys.count {
            $0.count { $0 == UInt8(ascii: "/") } == 4
        }
        #expect(ledgerRows == 4000)
    }

    @Test
    func `a send to one user does not wait for a view that lags behind the starts of a large send`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let phones = 3000
        for number in 0..<phones { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        expanderBed.writeToken(of: "single", entry: .update(activity: "a"), group: "single")
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path) {
            $0.overlayRowsMax = 2000
            $0.pageRowsMax = 500
        }
        func sendToOnePhone(_ number: Int64) async throws {
            expanderBed.write(
                ExpanderTestBed.makeExpansion(
                    of: .update, group: "single", send: "u\(number)",
                    version: ExpanderTestBed.firstVersion + number,
                    recipient: "single"))
            #expect(expanderBed.finish())
            // A walk that holds up the whole loop would delay it by ten seconds.
            try await eventually("the job is written", seconds: number == 1 ? 120 : 8) {
                try ExpanderTestBed.jobs(in: bed).contains { $0.send == "u\(number)" } || stage.failure != nil
            }
        }
        try await sendToOnePhone(1)
        // An open transaction hides all later records from the view.
        let openTransaction = try OpenTransaction(on: bed, topic: .starts)
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .start, group: "match", send: "s", version: ExpanderTestBed.firstVersion,
                generation: ExpanderTestBed.firstVersion))
        #expect(expanderBed.finish())
        try await eventually("the overlay is full") {
            try ExpanderTestBed.jobs(in: bed).count { $0.send == "s" } >= 1000 || stage.failure != nil
        }
        try await sendToOnePhone(2)
        #expect(try ExpanderTestBed.jobs(in: bed).count { $0.send == "s" } < phones)
        try openTransaction.abort()
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).count { $0.send == "s" } == phones)
    }

    @Test func `a token that comes while no expander runs gets the newest state from the next expander`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let expanderBed = try ExpanderTestBed(on: bed)
        let earlyToken = expanderBed.writeToken(of: "p1", entry: .update(activity: "a1"), group: "match")
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        var stage = try await ExpanderStage(bed, directory: firstDirectory.path)
        try await eventually("the first update") { expanderBed.isEverythingClosed() || stage.failure != nil }
        await stage.stop()
        let lateToken = expanderBed.writeToken(of: "p2", entry: .update(activity: "a2"), group: "match")
        #expect(expanderBed.finish())
        // Without files, everything is read again, and the late token still counts as new.
        stage = try await ExpanderStage(bed, directory: secondDirectory.path)
        try await eventually("the late token") {
            (try? ExpanderTestBed.jobs(in: bed).count) == 2 || stage.failure != nil
        }
        #expect(stage.failure == nil)
        let laterToken = expanderBed.writeToken(of: "p3", entry: .update(activity: "a3"), group: "match")
        #expect(expanderBed.finish())
        try await eventually("a token that comes while it runs") {
            (try? ExpanderTestBed.jobs(in: bed).count) == 3 || stage.failure != nil
        }
        await stage.stop()
        // With the same files, no token gets a second job.
        stage = try await ExpanderStage(bed, directory: secondDirectory.path, after: stage)
        expanderBed.write(update(2))
        #expect(expanderBed.finish())
        try await eventually("the second update") { expanderBed.isEverythingClosed() || stage.failure != nil }
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(
            jobs.filter { $0.send == "u1" }.map(\.token).sorted()
                == [earlyToken, lateToken, laterToken].sorted())
        #expect(jobs.filter { $0.send == "u2" }.count == 3 && jobs.count == 6)
    }

    @Test func `each member gets the newest state, whether its lane subscribed before or after the send`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let names = (0..<20).map { "p\($0)" }
        let firstPhone = names[0]
        let phoneInOtherLane = try #require(
            names.first {
                expanderBed.lane(of: .installation($0)) != expanderBed.lane(of: .installation(firstPhone))
            })
        let earlyToken = expanderBed.writeToken(
            of: firstPhone, entry: .update(activity: "a1"), group: "match")
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(
            bed, directory: directory.path, loops: FanOutService.Loop.allCases)
        let sends = try RecordWriter(on: bed, to: .sends)
        func update(_ id: String, goals: Int) throws {
            var content = PushContent(.update)
            content.contentState = try RawJSON(
                checking: Array(#"{"goals":\#(goals)}"#.utf8), with: JSONReader())
            let send = Send(
                id: id, app: ExpanderTestBed.app, group: "match", audience: .group, content: content,
                priority: .immediate, acceptedAt: WallTime.now().milliseconds)
            sends.write(key: send.scopeKey?.bytes, value: send.encoded())
            #expect(sends.finish())
        }
        // The planner may plan the send before or after the subscription of the first lane.
        try update("u1", goals: 1)
        try await eventually("the first lane has a job") {
            try ExpanderTestBed.jobs(in: bed).count == 1 || stage.failure != nil
        }
        let lateToken = expanderBed.writeToken(
            of: phoneInOtherLane, entry: .update(activity: "a2"), group: "match")
        #expect(expanderBed.finish())
        try await eventually("the late token") {
            try ExpanderTestBed.jobs(in: bed).count == 2 || stage.failure != nil
        }
        try update("u2", goals: 2)
        try await eventually("both lanes have closed the second send") {
            try ExpanderTestBed.tallies(of: "u2", in: bed).count == 2 || stage.failure != nil
        }
        #expect(stage.failure == nil)
        #expect(stage.metric("flotilla_fan_out_subscriptions_total") == 2)
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        for send in ["u1", "u2"] {
            let sent = jobs.filter { $0.send == send }
            #expect(sent.map(\.token).sorted() == [earlyToken, lateToken].sorted(), "\(send)")
            #expect(Set(sent.map(\.version)).count == 1)
        }
    }

    @Test
    func `an expander that had the lane before reads the other process's records before it serves a page`()
        async throws
    {
        let newPhones = 20
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<5 {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        func runStage(in directory: TemporaryDirectory, untilJobs count: Int) async throws {
            let stage = try await ExpanderStage(bed, directory: directory.path)
            try await eventually("\(count) have the first state") {
                try ExpanderTestBed.jobs(in: bed).count >= count || stage.failure != nil
            }
            #expect(stage.failure == nil)
            await stage.stop()
        }
        try await runStage(in: firstDirectory, untilJobs: 5)
        for number in 5..<5 + newPhones {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        #expect(expanderBed.finish())
        try await runStage(in: secondDirectory, untilJobs: 5 + newPhones)
        expanderBed.write(update(2))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: firstDirectory.path)
        try await stop(stage, after: "the second state is expanded", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).count { $0.send == "u2" } == 5 + newPhones)
    }

    @Test func `a process without files serves no page before it has read the starts of other processes`()
        async throws
    {
        let phones = 50
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<phones { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        var stage = try await ExpanderStage(bed, directory: firstDirectory.path)
        try await eventually("the stage serves") { expanderBed.isEverythingClosed() || stage.failure != nil }
        // An open transaction hides the later starts from the next process.
        let openTransaction = try OpenTransaction(on: bed, topic: .starts)
        func writeStart(_ send: String) {
            expanderBed.write(
                ExpanderTestBed.makeExpansion(
                    of: .start, group: "match", send: send, version: ExpanderTestBed.firstVersion,
                    generation: ExpanderTestBed.firstVersion))
            #expect(expanderBed.finish())
        }
        writeStart("s")
        try await stop(stage, after: "all phones are started", in: expanderBed)
        writeStart("again")
        // The loop reads its clock for each page, and otherwise about once a second.
        let clockReads = TracedLock<Int?>(nil)
        stage = try await ExpanderStage(
            bed, directory: secondDirectory.path,
            clock: {
                clockReads.withLock { $0? += 1 }
                return .now()
            }, onStep: { step in if step == .viewOpened { clockReads.withLock { $0 = 0 } } })
        try await eventually("the stage has had time to serve a page") {
            clockReads.withLock { $0 ?? 0 } >= 6 || stage.failure != nil
        }
        try openTransaction.abort()
        try await stop(stage, after: "the second start", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).count { $0.event == .start } == phones)
    }

    @Test func `registry changes are applied in parts, so that no file keeps the memory of a burst`()
        async throws
    {
        let (phones, rowsPerPartMax) = (2000, 250)
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        expanderBed.writeToken(of: "first", entry: .update(activity: "first"), group: "match")
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        let parts = TracedLock(0)
        let stage = try await ExpanderStage(
            bed, directory: directory.path,
            onStep: { step in if step == .registryApplied { parts.withLock { $0 += 1 } } })
        try await eventually("the stage serves") { expanderBed.isEverythingClosed() || stage.failure != nil }
        parts.withLock { $0 = 0 }
        for number in 0..<phones {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        #expect(expanderBed.finish())
        try await eventually("all have the newest state") {
            try ExpanderTestBed.jobs(in: bed).count == 1 + phones || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        #expect(parts.withLock { $0 } >= phones / rowsPerPartMax)
    }

    @Test func `the walk of a send to a group does not wait until the stream of single sends ends`()
        async throws
    {
        // More members than the first page of a send has.
        let (singleSends, members) = (3000, 500 + 100)
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        expanderBed.writeToken(of: "single", entry: .update(activity: "a"), group: "single")
        for number in 0..<members {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        expanderBed.write(update(1))
        for number in 1...singleSends {
            expanderBed.write(
                ExpanderTestBed.makeExpansion(
                    of: .update, group: "single", send: "s\(number)",
                    version: ExpanderTestBed.firstVersion + Int64(number),
                    recipient: "single"))
        }
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path)
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        // All records are in one partition, in the order of their transactions.
        let reader = JSONReader()
        let closed = try TopicContent(of: .progress, in: bed).records.map {
            try ProgressRecord.decode($0.value ?? [], with: reader).send
        }
        #expect(try #require(closed.firstIndex(of: "u1")) < singleSends / 2)
    }

    @Test func `a process without files starts no installation twice and ends old activities`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let (firstDirectory, secondDirectory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<3000 { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        func start(_ send: String) -> Expansion {
            ExpanderTestBed.makeExpansion(
                of: .start, group: "match", send: send, version: ExpanderTestBed.firstVersion,
                generation: ExpanderTestBed.firstVersion)
        }
        expanderBed.write(start("s"))
        #expect(expanderBed.finish())
        var stage = try await ExpanderStage(bed, directory: firstDirectory.path)
        try await eventually("all phones are started") {
            expanderBed.isEverythingClosed() || stage.failure != nil
        }
        await stage.stop()
        expanderBed.write(start("again"))
        expanderBed.writeToken(of: "p7", entry: .update(activity: "a7"), group: "match")
        // The start is eight hours old.
        expanderBed.writeStart(
            of: "p7", in: "match", generation: ExpanderTestBed.firstVersion,
            at: WallTime.now().milliseconds - 8 * 3_600_000)
        #expect(expanderBed.finish())
        stage = try await ExpanderStage(bed, directory: secondDirectory.path)
        try await eventually("the second start") { expanderBed.isEverythingClosed() || stage.failure != nil }
        try await eventually("the safety END") {
            stage.metric("flotilla_fan_out_safety_ends_total") == 1 || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.filter { $0.event == .start }.count == 3000)
        #expect(jobs.filter { $0.event == .end }.count == 1)
    }

    @Test func `tokens reach the sender sealed and open only for their own row`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "keys")
        try Data(SealingKeys.makeText().utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let keys = try SealingKeys(file: path)
        let seal = TokenSeal(keys: keys)
        let expanderBed = try ExpanderTestBed(on: bed)
        var tokens: [String: String] = [:]
        for number in 0..<50 {
            let entry = RegistryKey.Entry.update(activity: "a\(number)")
            tokens[entry.text] = expanderBed.writeToken(
                of: "p\(number)", entry: entry, group: "match", sealedBy: seal)
        }
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path, sealingKeys: keys)
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.count == 50)
        for job in jobs {
            #expect(job.token.hasPrefix("s"), "the token is not sealed")
            let opened = try seal.open(job.token, app: ExpanderTestBed.app, entry: job.entry)
            #expect(String(decoding: opened.hex, as: UTF8.self) == tokens[job.entry])
            #expect(throws: TokenSeal.Failure.sealedForAnotherRow) {
                try seal.open(job.token, app: ExpanderTestBed.app, entry: "update:other")
            }
        }
    }

    @Test(arguments: [-172_800, -3600, 3600, 172_800] as [Int64])
    func `with a wrong clock no job is lost, early or delayed`(seconds: Int64)
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let (hour, now) = (3_600_000 as Int64, WallTime.now().milliseconds)
        expanderBed.writeToken(of: "new", entry: .start(type: "Match"))
        expanderBed.writeToken(of: "young", entry: .update(activity: "young"), group: "match")
        expanderBed.writeStart(of: "young", in: "match", generation: 1, at: now - 2 * hour)
        expanderBed.writeToken(of: "old", entry: .update(activity: "old"), group: "match")
        // The lower of the two clocks says when an activity ends.
        expanderBed.writeStart(
            of: "old", in: "match", generation: 1, at: now - 8 * hour + min(0, seconds * 1000))
        var expectedUpdate = update(1)
        expectedUpdate.deadline = now / 1000 + 1800
        expanderBed.write(expectedUpdate)
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .start, group: "other", send: "s", version: ExpanderTestBed.firstVersion + 1,
                generation: ExpanderTestBed.firstVersion + 1))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(
            bed, directory: directory.path, clock: { .now(plus: seconds * 1000) })
        try await eventually("all sends are expanded") {
            expanderBed.isEverythingClosed() || stage.failure != nil
        }
        try await eventually("the END of the old activity") {
            stage.metric("flotilla_fan_out_safety_ends_total") > 0 || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.filter { $0.event == .update }.map(\.entry).sorted() == ["update:old", "update:young"])
        #expect(jobs.filter { $0.event == .end }.map(\.entry) == ["update:old"])
        #expect(jobs.filter { $0.event == .start }.count == 1)
        let ledgerRows = try TopicContent(of: .starts, in: bed).newestValues.compactMap { key, value in
            LedgerKey(bytes: key)?.installation == "new"
                ? try LedgerRow.decode(value, with: JSONReader()) : nil
        }
        #expect(
            ledgerRows.count == 1 && ledgerRows.allSatisfy { $0.startedAt >= now },
            "the safety END of the new activity is early")
    }

    @Test func `a record that is not an expansion becomes a dead letter, and the next ones are expanded`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        expanderBed.writeToken(of: "p1", entry: .update(activity: "a1"), group: "match")
        expanderBed.write(raw: Array("no JSON".utf8), lane: 0)
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path)
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).count == 1)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(deadLetters.count == 1)
        #expect(deadLetters.first?.headers["flotilla-dead-stage"] == "fan-out")
    }

    @Test func `a send to one user does not wait behind a long send`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<3000 {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        expanderBed.writeToken(of: "single", entry: .update(activity: "single"), group: "other")
        expanderBed.write(update(1))
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .update, group: "other", send: "single", version: ExpanderTestBed.firstVersion + 5,
                recipient: "single"))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path, { $0.pageRowsMax = 500 })
        try await stop(stage, after: "all sends are expanded", in: expanderBed)
        #expect(try ExpanderTestBed.jobs(in: bed).count == 3001)
        let urgent = try TopicContent(of: .jobsUrgent, in: bed).records
        let last = try TopicContent(of: .jobs, in: bed).records.map(\.timestamp).max() ?? 0
        #expect(urgent.count == 1 && urgent[0].timestamp <= last)
    }
}
