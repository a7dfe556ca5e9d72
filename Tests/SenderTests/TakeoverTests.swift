import APNs
import Lifecycle
import LiveActivity
import Testing

@testable import Sender

/// A lane whose earlier owner died. The receipts of that owner count, even if successors die before the sheets
/// are done.
@Suite struct TakeoverTests {
    private var moment = Moment(now: Instant(nanoseconds: 1_000_000_000_000), wall: 1_763_600_000_000)
    private var core: SenderCore

    init() {
        core = SenderCore(SenderLimits(), seed: 1)
        core.informed()
    }

    private func head() -> SheetHead {
        SheetHead(
            topic: "t.push-type.liveactivity", priority: 10, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 1,
            event: .update, deadline: moment.wall / 1000 + 3_600, acceptedAt: moment.wall)
    }

    private func sheet(from origin: SheetOrigin? = nil) throws -> SheetRecord {
        try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head().apnsLines, flotilla: head().flotillaLines,
                to: Array("00\ti\tupdate:a\ti:i\n".utf8)), origin: origin?.headerLines)
    }

    private static let place = JobPlace(topic: JobTopic.usual.word, partition: 0, offset: 0)

    /// A receipt for its one job, which was accepted.
    private var accepted: Receipt {
        Receipt(
            head(), at: Self.place, attempt: 1, writtenAt: moment.wall,
            [Receipt.Part(.accepted, LineSet(all: 1))])
    }

    private mutating func assign(_ note: CommitNote?, usualFrom base: Int64 = 0) {
        core.assigned([
            LaneStart(
                lane: 0,
                tracks: JobTopic.allCases.map { topic in
                    LaneStart.Track(base: topic == .usual ? base : 0, note: note)
                })
        ])
    }

    private mutating func turn(after milliseconds: Int = 0) -> SenderOrders {
        moment.now = moment.now.advanced(byMilliseconds: milliseconds)
        moment.wall += Int64(milliseconds)
        core.leased(until: moment.now.advanced(byMilliseconds: 5_000))
        core.turn(moment) { _, _ in .open(room: 10) }
        defer { core.orders.removeAll() }
        return core.orders
    }

    @Test
    mutating func `a job that is also in a tier is done if its first sheet was done and committed`()
        throws
    {
        // An owner moved the job and died before `receipts` had it. The next owner pushed and committed the
        // first sheet.
        assign(CommitNote(receiptsFrom: 0, window: 1_000), usualFrom: 1)
        core.found(accepted, lane: 0)
        core.foundAll(lane: 0, end: 1, moment)
        let origin = SheetOrigin(
            topic: Self.place.topic, partition: 0, offset: 0, lines: LineSet(all: 1), attempt: 2, tries: 1,
            dueAt: moment.wall)
        core.arrived(try sheet(from: origin), from: .later5s, lane: 0, at: 0, moment)
        _ = turn(after: 10_000)
        core.foundAll(lane: 0, end: 1, moment)
        let orders = turn(after: 1)
        #expect(orders.pushes.isEmpty)
        #expect(core.sheetsInHand == 0)
    }

    @Test(arguments: [nil, CommitNote(receiptsFrom: 0, window: 1_000, endedAt: 0)])
    mutating func
        `a new owner of a fresh or returned lane commits a note before its first push`(
            note: CommitNote?
        ) throws
    {
        assign(note)
        core.foundAll(lane: 0, end: 0, moment)
        core.arrived(try sheet(), from: .usual, lane: 0, at: 0, moment)
        let before = turn(after: 1)
        #expect(before.pushes.isEmpty)
        #expect(before.commits.contains { $0.topic == .usual && $0.offset == 0 && $0.note.window > 0 })
        #expect(
            before.commits.map(\.topic) == JobTopic.allCases, "no other topic waits for its own note later")
        core.committed(before.commitNumber, isDone: true, moment)
        #expect(turn(after: 1).pushes.count == 1)
    }

    @Test mutating func `a commit result of an earlier assignment does not count`() throws {
        assign(nil)
        core.foundAll(lane: 0, end: 0, moment)
        core.arrived(try sheet(), from: .usual, lane: 0, at: 0, moment)
        let early = turn(after: 1)
        core.lost(moment)
        _ = turn(after: 1)
        assign(nil)
        core.foundAll(lane: 0, end: 0, moment)
        core.arrived(try sheet(), from: .usual, lane: 0, at: 0, moment)
        let now = turn(after: 5_000)
        #expect(!now.commits.isEmpty)
        core.committed(early.commitNumber, isDone: true, moment)
        #expect(turn(after: 1).pushes.isEmpty)
        core.committed(now.commitNumber, isDone: true, moment)
        #expect(turn(after: 1).pushes.count == 1)
    }

    @Test mutating func `an owner that returns a lane with waiting sheets names the start of their receipts`()
        throws
    {
        assign(CommitNote(receiptsFrom: 0, window: 1))
        core.found(accepted, lane: 0)
        core.foundAll(lane: 0, end: 1, moment)
        // All sheets that the earlier owner may have begun were read, and wait.
        core.arrived(try sheet(), from: .usual, lane: 0, at: 0, moment)
        _ = turn(after: 100)
        core.revoked(by: moment.now.advanced(byMilliseconds: 10_000), moment)
        let orders = turn(after: 100)
        #expect(orders.isLastCommit)
        let note = orders.commits.first { $0.topic == .usual }?.note
        #expect(note?.receiptsFrom == 0 && note?.endedAt == nil)
    }

    @Test mutating func `the last receipts of an earlier owner are read, although they lie before ours`()
        throws
    {
        var limits = SenderLimits()
        limits.window = 1_000
        core = SenderCore(limits, seed: 1)
        core.informed()
        assign(CommitNote(receiptsFrom: 0, window: 1))
        core.found(accepted, lane: 0)
        core.foundAll(lane: 0, end: 5, moment)
        // Sheets above the earlier owner's window flow while the others wait.
        for offset in 0..<3 {
            core.arrived(try sheet(), from: .usual, lane: 0, at: Int64(offset), moment)
        }
        var writes: [UInt64] = []
        for _ in 0..<5 {
            let orders = turn(after: 100)
            for push in orders.pushes { core.accepted(push.tag, moment) }
            for (id, _) in orders.writes {
                core.stored(id, at: Int64(9 + writes.count), moment)
                writes.append(id)
            }
            if !orders.commits.isEmpty { core.committed(orders.commitNumber, isDone: true, moment) }
        }
        let reads = turn(after: 10_000).reads
        #expect(reads == [SenderOrders.Read(lane: 0, from: 5)])
    }

    @Test mutating func `a topic without jobs does not make a successor read old receipts`() throws {
        assign(nil)
        core.foundAll(lane: 0, end: 50_000, moment)
        for topic in JobTopic.allCases { core.reachedEnd(of: topic, lane: 0, at: 0) }
        let commits = turn(after: 2_000).commits
        #expect(commits.map(\.note.receiptsFrom) == [50_000, 50_000, 50_000, 50_000])
    }
}
