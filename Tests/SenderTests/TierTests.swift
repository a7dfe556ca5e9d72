import APNs
import Jobs
import Lifecycle
import Testing

@testable import Sender

/// Tests of the tiers: the topics in which jobs wait 5 s or 2 min for another try. One `DeliveryPlan` has one lane. The
/// test keeps the topics as lists and delivers their sheets, as a consumer does. The app `keyless` has no provider key,
/// and the app `shop` works.
@Suite struct TierTests {
    private static let longTier = JobTopic.later2m
    /// The longest time by which a sheet leaves after it is due. A partition is paused for at least a second, and a
    /// step takes 50 ms.
    private static let dueDelayMillisecondsMax: Int64 = 1_100
    /// The limit of memory for sheets in hand. It is small, so that a test can reach it.
    private static let sheetBytesMax = 64 << 10

    private var plan: DeliveryPlan
    private var time = CurrentTime.testStart
    private let startMilliseconds = CurrentTime.testStart.unixMilliseconds

    // Kafka. The lists are by the topic's number.
    private var logs: [[SheetRecord]] = Array(repeating: [], count: JobTopic.allCases.count)
    /// The next offsets to read.
    private var positions = Array(repeating: 0, count: JobTopic.allCases.count)
    /// Whether the plan has paused the partition.
    private var paused = Array(repeating: true, count: JobTopic.allCases.count)
    private var resumes: [DeliveryActions.PartitionResume] = []
    private var committed: [JobTopic: DeliveryActions.OffsetCommit] = [:]
    private var receiptCount: Int64 = 0

    // APNs.
    /// The pushes, with the milliseconds since the start.
    private var pushed: [(app: String, at: Int64)] = []
    /// The answer of APNs, or nil if it accepts pushes.
    private var answer: PushAnswer?

    init() {
        var limits = SenderLimits()
        limits.sheetBytesMax = Self.sheetBytesMax
        limits.receiptsBehindMax = 10
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
    }

    /// - Parameter metadata: The metadata of an earlier owner.
    private mutating func assign(_ metadata: CommitMetadata = .returnedInOrder()) {
        plan.assigned([LaneStart(lane: 0, metadata: metadata)])
        plan.receiptReadEnded(lane: 0, until: receiptCount, at: time)
    }

    /// Stores a sheet with one phone.
    ///
    /// - Parameter milliseconds: The time until a sheet in a tier is due.
    private mutating func write(
        _ app: String, to topic: JobTopic = .normal, dueIn milliseconds: Int? = nil,
        deadlineSeconds: Int64 = 3_600
    ) throws {
        let offset = logs[topic.rawValue].count
        var record = try SheetRecord.update(
            of: app, to: ["\(topic.word)-\(offset)"], in: "g\(topic.word)\(offset)", version: 1, at: time,
            deadlineSeconds: deadlineSeconds)
        if let milliseconds {
            let origin = SheetOrigin(
                topic: JobTopic.normal.word, partition: 0, offset: Int64(1_000_000 + offset),
                lines: LineSet(all: 1), attempt: 2, dueAt: time.unixMilliseconds + Int64(milliseconds))
            record = try SheetRecord(record.content, origin: origin.headerValue)
        }
        logs[topic.rawValue].append(record)
    }

    /// Runs step by step. The consumer delivers a few sheets of each partition that is not paused.
    private mutating func run(milliseconds: Int, stepMilliseconds: Int = 50) throws {
        for _ in 0..<milliseconds / stepMilliseconds {
            time.advance(byMilliseconds: stepMilliseconds)
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            for topic in JobTopic.allCases where !paused[topic.rawValue] { deliver(topic) }
            plan.step(at: time) { sheet, _ in
                sheet.head.app == "keyless" ? .closed(reason: "no_provider_key") : .open(capacity: 100)
            }
            while try carryOut() { plan.step(at: time) { _, _ in .open(capacity: 0) } }
        }
    }

    /// Delivers up to 20 sheets of a topic, or reports its end.
    private mutating func deliver(_ topic: JobTopic) {
        for _ in 0..<20 {
            let position = positions[topic.rawValue]
            guard position < logs[topic.rawValue].count else {
                return plan.reachedEnd(of: topic, lane: 0, at: Int64(position))
            }
            positions[topic.rawValue] += 1
            plan.arrived(
                logs[topic.rawValue][position], from: topic, lane: 0, offset: Int64(position), at: time)
        }
    }

    /// Carries out the plan's actions. Returns whether there were pushes or writes, so that the plan may have more.
    private mutating func carryOut() throws -> Bool {
        let actions = plan.actions
        plan.actions.removeAll()
        for push in actions.pushes {
            pushed.append((push.sheet.head.app, time.unixMilliseconds - startMilliseconds))
            if let answer {
                plan.ended(push.tag, as: answer, at: time)
            } else {
                plan.accepted(push.tag, at: time)
            }
        }
        for (id, write) in actions.writes {
            guard case .tier(let tier, let origin) = write.content, let sheet = write.sheet else {
                receiptCount += 1
                plan.stored(id, offset: receiptCount - 1, at: time)
                continue
            }
            let topic = tier.jobTopic.rawValue
            logs[topic].append(try SheetRecord(sheet.content, origin: origin.headerValue))
            plan.stored(id, offset: Int64(logs[topic].count - 1), at: time)
        }
        for pause in actions.pauses { paused[pause.topic.rawValue] = true }
        for resume in actions.resumes {
            paused[resume.topic.rawValue] = false
            if let from = resume.from { positions[resume.topic.rawValue] = Int(from) }
        }
        resumes += actions.resumes
        if !actions.commits.isEmpty {
            for commit in actions.commits { committed[commit.topic] = commit }
            plan.committed(actions.commitNumber, isAccepted: true, at: time)
        }
        return !actions.pushes.isEmpty || !actions.writes.isEmpty
    }

    private func pushTimes(of app: String) -> [Int64] { pushed.filter { $0.app == app }.map(\.at) }

    @Test mutating func `an app without a key does not delay another app`() throws {
        assign()
        for _ in 0..<500 { try write("keyless") }
        let firstRoundAt = 20_000
        let roundMilliseconds = 15_000
        let pushDelayMillisecondsMax: Int64 = 1_000
        try run(milliseconds: firstRoundAt)
        for round in 0..<20 {
            for topic in [JobTopic.normal, .urgent] {
                try write("keyless", to: topic)
                try write("shop", to: topic)
            }
            try run(milliseconds: roundMilliseconds)
            #expect(pushed.count == 2 * (round + 1), "round \(round)")
        }
        for (index, time) in pushTimes(of: "shop").enumerated() {
            let writtenAt = Int64(firstRoundAt + roundMilliseconds * (index / 2))
            #expect(time < writtenAt + pushDelayMillisecondsMax, "push \(index)")
        }
    }

    @Test mutating func `sheets that are not due take no memory`() throws {
        assign()
        for _ in 0..<500 { try write("keyless", to: Self.longTier, dueIn: 120_000) }
        try run(milliseconds: 100_000)
        #expect(plan.sheetCount == 0)
        #expect(pushed.isEmpty)
        #expect(plan.oldestAcceptedAt == startMilliseconds)
    }

    @Test mutating func `each sheet is pushed when it is due`() throws {
        assign()
        let dueTimes = (0..<10).map { 120_000 + $0 * 3_000 }
        for dueTime in dueTimes { try write("shop", to: Self.longTier, dueIn: dueTime) }
        try run(milliseconds: 200_000)
        #expect(pushed.count == 10)
        for (dueTime, time) in zip(dueTimes, pushTimes(of: "shop")) {
            let delay = time - Int64(dueTime)
            #expect((0...Self.dueDelayMillisecondsMax).contains(delay), "the sheet that is due at \(dueTime)")
        }
    }

    @Test mutating func `a sheet that is due a little earlier than those before it waits for them`() throws {
        assign()
        for milliseconds in [5_000, 4_000, 5_100] {
            try write("shop", to: .later5s, dueIn: milliseconds)
        }
        try run(milliseconds: 10_000)
        #expect(pushed.count == 3)
        #expect(
            pushTimes(of: "shop").allSatisfy { (5_000...5_100 + Self.dueDelayMillisecondsMax).contains($0) })
    }

    @Test(arguments: [JobTopic.later5s, .later2m])
    mutating func `times of a clock that was ahead delay sheets by one wait of the tier`(topic: JobTopic)
        throws
    {
        assign()
        let wait = topic == .later5s ? 5_000 : 120_000
        for index in 0..<30 { try write("shop", to: topic, dueIn: 86_400_000 + wait + index * 10) }
        try write("shop", to: topic, dueIn: wait)
        try run(milliseconds: 2 * wait + 5_000)
        #expect(pushed.count == 31)
    }

    @Test mutating func `the partition continues from the first sheet that was not taken`() throws {
        assign()
        try write("shop", to: .later5s, dueIn: 0)
        for _ in 0..<60 { try write("shop", to: .later5s, dueIn: 5_000) }
        try run(milliseconds: 3_000)
        #expect(pushed.count == 1)
        #expect(paused[JobTopic.later5s.rawValue])
        #expect(committed[.later5s]?.offset == 1)
        try run(milliseconds: 5_000)
        #expect(resumes.filter { $0.from != nil }.map(\.from) == [1])
        #expect(pushed.count == 61)
        #expect(committed[.later5s]?.offset == 61)
    }

    @Test mutating func `a late step pauses the partition before it continues`() throws {
        assign()
        try run(milliseconds: 100)
        try write("shop", to: .later5s, dueIn: 500)
        deliver(.later5s)
        try run(milliseconds: 2_000, stepMilliseconds: 2_000)
        #expect(paused[JobTopic.later5s.rawValue])
        #expect(pushed.isEmpty)
        try run(milliseconds: 200)
        #expect(pushed.count == 1)
    }

    @Test mutating func `tiers have a share of the memory, and the other topics have the rest`() throws {
        assign()
        plan.suspended()
        for _ in 0..<500 { try write("shop", to: Self.longTier, dueIn: 0) }
        for _ in 0..<20 { try write("shop") }
        // Without a lease nothing leaves, so everything that is read stays in hand.
        for _ in 0..<20 {
            time.now = time.now.advanced(byMilliseconds: 50)
            for topic in JobTopic.allCases where !paused[topic.rawValue] { deliver(topic) }
            plan.step(at: time) { _, _ in .open(capacity: 0) }
            _ = try carryOut()
        }
        #expect(paused[Self.longTier.rawValue])
        #expect(!paused[JobTopic.normal.rawValue])
        #expect(plan.byteCountInHand < Self.sheetBytesMax)
    }

    @Test mutating func `a job whose deadline is in a minute is tried again after 5xx`() throws {
        assign()
        answer = PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable")
        try write("shop", deadlineSeconds: 60)
        try run(milliseconds: 70_000)
        #expect(pushed.count == SheetHead.triesDefault, "the job has not used all its tries")
    }

    @Test mutating func `an earlier owner's receipts are forgotten before the end of a tier is reached`()
        throws
    {
        receiptCount = 40
        assign(CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 40))
        for _ in 0..<100 {
            try write("keyless")
            try write("shop")
            try run(milliseconds: 3_000)
        }
        let metadata = try #require(committed[Self.longTier]?.metadata)
        #expect(metadata.receiptsFrom >= 40)
    }
}
