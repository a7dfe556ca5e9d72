import APNs
import Lifecycle
import LiveActivity
import Testing

@testable import Sender

/// One lane in one process. Jobs of an app without a provider key wait in the tiers, and another app also has
/// jobs.
@Suite struct TierTests {
    private static let later = JobTopic.later2m

    private var core: SenderCore
    private var moment = Moment(now: Instant(nanoseconds: 1_000_000_000_000), wall: 1_763_600_000_000)
    /// The partitions by the topic's number, and the consumer's positions in them.
    private var logs: [[SheetRecord]] = Array(repeating: [], count: JobTopic.allCases.count)
    private var positions = Array(repeating: 0, count: JobTopic.allCases.count)
    private var paused = Array(repeating: true, count: JobTopic.allCases.count)
    private var resumes: [SenderOrders.Resume] = []
    private var committed: [JobTopic: SenderOrders.Commit] = [:]
    private var receipts: Int64 = 0
    /// Pushes: the app and the milliseconds since the start.
    private var pushed: [(app: String, at: Int64)] = []
    private let start: Int64
    /// The answer of APNs; nil if it accepts pushes.
    private var answer: PushAnswer?

    init() {
        start = moment.wall
        var limits = SenderLimits()
        limits.handBytesMax = 64 << 10
        limits.noteBehindMax = 10
        core = SenderCore(limits, seed: 1)
        core.informed()
    }

    /// - Parameter note: the note of an earlier owner.
    private mutating func assign(
        _ note: CommitNote = CommitNote(receiptsFrom: 0, window: 1_000, endedAt: 0)
    ) {
        core.assigned([
            LaneStart(lane: 0, tracks: JobTopic.allCases.map { _ in LaneStart.Track(base: 0, note: note) })
        ])
        core.foundAll(lane: 0, end: receipts, moment)
    }

    private mutating func write(
        _ app: String, to topic: JobTopic = .usual, dueIn milliseconds: Int? = nil,
        deadlineSeconds: Int64 = 3_600
    ) throws {
        let offset = logs[topic.rawValue].count
        var record = try SheetRecord.update(
            of: app, to: ["\(topic.word)-\(offset)"], in: "g\(topic.word)\(offset)", version: 1, at: moment,
            deadlineSeconds: deadlineSeconds)
        if let milliseconds {
            let origin = SheetOrigin(
                topic: JobTopic.usual.word, partition: 0, offset: Int64(1_000_000 + offset),
                lines: LineSet(all: 1), attempt: 2, dueAt: moment.wall + Int64(milliseconds))
            record = try SheetRecord(record.content, origin: origin.headerLines)
        }
        logs[topic.rawValue].append(record)
    }

    /// Runs turn by turn. The consumer delivers a few sheets of each partition that is not paused.
    private mutating func live(milliseconds: Int, turn: Int = 50) throws {
        for _ in 0..<milliseconds / turn {
            moment.now = moment.now.advanced(byMilliseconds: turn)
            moment.wall += Int64(turn)
            core.leased(until: moment.now.advanced(byMilliseconds: 5_000))
            for topic in JobTopic.allCases where !paused[topic.rawValue] { deliver(topic) }
            core.turn(moment) { sheet, _ in
                sheet.head.app == "keyless" ? .closed(reason: "no_provider_key") : .open(room: 100)
            }
            while try carryOut() { core.turn(moment) { _, _ in .open(room: 0) } }
        }
    }

    private mutating func deliver(_ topic: JobTopic) {
        for _ in 0..<20 {
            let position = positions[topic.rawValue]
            guard position < logs[topic.rawValue].count else {
                return core.reachedEnd(of: topic, lane: 0, at: Int64(position))
            }
            positions[topic.rawValue] += 1
            core.arrived(
                logs[topic.rawValue][position], from: topic, lane: 0, at: Int64(position), moment)
        }
    }

    private mutating func carryOut() throws -> Bool {
        let orders = core.orders
        core.orders.removeAll()
        for push in orders.pushes {
            pushed.append((push.sheet.head.app, moment.wall - start))
            if let answer {
                core.ended(push.tag, as: answer, moment)
            } else {
                core.accepted(push.tag, moment)
            }
        }
        for (id, write) in orders.writes {
            guard case .tier(let tier, let origin) = write.kind, let sheet = write.sheet else {
                receipts += 1
                core.stored(id, at: receipts - 1, moment)
                continue
            }
            let topic = tier.jobs.rawValue
            logs[topic].append(try SheetRecord(sheet.content, origin: origin.headerLines))
            core.stored(id, at: Int64(logs[topic].count - 1), moment)
        }
        for flow in orders.pauses { paused[flow.topic.rawValue] = true }
        for resume in orders.resumes {
            paused[resume.topic.rawValue] = false
            if let from = resume.from { positions[resume.topic.rawValue] = Int(from) }
        }
        resumes += orders.resumes
        if !orders.commits.isEmpty {
            for commit in orders.commits { committed[commit.topic] = commit }
            core.committed(orders.commitNumber, isDone: true, moment)
        }
        return !orders.pushes.isEmpty || !orders.writes.isEmpty
    }

    private func times(of app: String) -> [Int64] { pushed.filter { $0.app == app }.map(\.at) }

    @Test mutating func `an app without a key does not delay another app`() throws {
        assign()
        for _ in 0..<500 { try write("keyless") }
        try live(milliseconds: 20_000)
        for round in 0..<20 {
            for topic in [JobTopic.usual, .urgent] {
                try write("keyless", to: topic)
                try write("shop", to: topic)
            }
            try live(milliseconds: 15_000)
            #expect(pushed.count == 2 * (round + 1), "round \(round)")
        }
        for (index, time) in times(of: "shop").enumerated() {
            #expect(time < 20_000 + 15_000 * Int64(index / 2) + 1_000)
        }
    }

    @Test mutating func `sheets that are not due take no memory`() throws {
        assign()
        for _ in 0..<500 { try write("keyless", to: Self.later, dueIn: 120_000) }
        try live(milliseconds: 100_000)
        #expect(core.sheetsInHand == 0)
        #expect(pushed.isEmpty)
        #expect(core.oldestAcceptedAt == start)
    }

    @Test mutating func `each sheet is pushed when it is due`() throws {
        assign()
        for index in 0..<10 { try write("shop", to: Self.later, dueIn: 120_000 + index * 3_000) }
        try live(milliseconds: 200_000)
        #expect(pushed.count == 10)
        for (index, time) in times(of: "shop").enumerated() {
            #expect((0...1_100).contains(time - 120_000 - Int64(index) * 3_000), "sheet \(index)")
        }
    }

    @Test mutating func `a sheet that is due a little earlier than those before it waits for them`() throws {
        assign()
        for milliseconds in [5_000, 4_000, 5_100] {
            try write("shop", to: .later5s, dueIn: milliseconds)
        }
        try live(milliseconds: 10_000)
        #expect(times(of: "shop").allSatisfy { (5_000...6_200).contains($0) } && pushed.count == 3)
    }

    @Test(arguments: [JobTopic.later5s, .later2m])
    mutating func `times of a clock that was ahead delay sheets by one wait of the tier`(topic: JobTopic)
        throws
    {
        assign()
        let wait = topic == .later5s ? 5_000 : 120_000
        for index in 0..<30 { try write("shop", to: topic, dueIn: 86_400_000 + wait + index * 10) }
        try write("shop", to: topic, dueIn: wait)
        try live(milliseconds: 2 * wait + 5_000)
        #expect(pushed.count == 31)
    }

    @Test mutating func `the partition continues from the first sheet that was not taken`() throws {
        assign()
        try write("shop", to: .later5s, dueIn: 0)
        for _ in 0..<60 { try write("shop", to: .later5s, dueIn: 5_000) }
        try live(milliseconds: 3_000)
        #expect(pushed.count == 1 && paused[JobTopic.later5s.rawValue])
        #expect(committed[.later5s]?.offset == 1)
        try live(milliseconds: 5_000)
        #expect(resumes.filter { $0.from != nil }.map(\.from) == [1])
        #expect(pushed.count == 61 && committed[.later5s]?.offset == 61)
    }

    @Test mutating func `a late turn pauses the partition before it continues`() throws {
        assign()
        try live(milliseconds: 100)
        try write("shop", to: .later5s, dueIn: 500)
        deliver(.later5s)
        try live(milliseconds: 2_000, turn: 2_000)
        #expect(paused[JobTopic.later5s.rawValue] && pushed.isEmpty)
        try live(milliseconds: 200)
        #expect(pushed.count == 1)
    }

    @Test mutating func `tiers have a share of the memory, and the other topics have the rest`() throws {
        assign()
        core.suspended()
        for _ in 0..<500 { try write("shop", to: Self.later, dueIn: 0) }
        for _ in 0..<20 { try write("shop") }
        // Without a lease nothing leaves, so everything that is read stays in hand.
        for _ in 0..<20 {
            moment.now = moment.now.advanced(byMilliseconds: 50)
            for topic in JobTopic.allCases where !paused[topic.rawValue] { deliver(topic) }
            core.turn(moment) { _, _ in .open(room: 0) }
            _ = try carryOut()
        }
        #expect(paused[Self.later.rawValue] && !paused[JobTopic.usual.rawValue])
        #expect(core.bytesInHand < 64 << 10)
    }

    @Test mutating func `a job whose deadline is in a minute is tried again after 5xx`() throws {
        assign()
        answer = PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable")
        try write("shop", deadlineSeconds: 60)
        try live(milliseconds: 70_000)
        #expect(pushed.count == 6, "the limit of tries of a send")
    }

    @Test mutating func `an earlier owner's receipts are forgotten before the end of a tier is reached`()
        throws
    {
        receipts = 40
        assign(CommitNote(receiptsFrom: 0, window: 1_000, endedAt: 40))
        for _ in 0..<100 {
            try write("keyless")
            try write("shop")
            try live(milliseconds: 3_000)
        }
        let note = try #require(committed[Self.later]?.note)
        #expect(note.receiptsFrom >= 40)
    }
}
