import APNs
import Lifecycle
import LiveActivity
import Testing

@testable import Sender

/// One process with two lanes and an app whose setting is wrong.
@Suite struct OpenBreakerTests {
    private static let lanes = 2

    private var core = SenderCore(SenderLimits(), seed: 1)
    private var moment = Moment(now: Instant(nanoseconds: 1_000_000_000_000), wall: 1_763_600_000_000)
    /// Sheets that moved to a tier.
    private var parked: [(lane: Int32, tier: LaterTier)] = []

    init() {
        core.informed()
        let note = CommitNote(receiptsFrom: 0, window: 1_000, endedAt: 0)
        let tracks = JobTopic.allCases.map { _ in LaneStart.Track(base: 0, note: note) }
        core.assigned((0..<Self.lanes).map { LaneStart(lane: Int32($0), tracks: tracks) })
        for lane in 0..<Self.lanes { core.foundAll(lane: Int32(lane), end: 0, moment) }
    }

    private mutating func arrive(_ offsets: Range<Int64>, topic: JobTopic = .usual) throws {
        for lane in 0..<Self.lanes {
            for offset in offsets {
                let sheet = try SheetRecord.update(
                    of: "shop", to: "\(lane)-\(offset)", in: "g\(lane)-\(offset)", version: 1, at: moment)
                core.arrived(sheet, from: topic, lane: Int32(lane), at: offset, moment)
            }
        }
        core.leaveWord(moment)
    }

    /// Returns the pushes that leave after some time. All writes are stored and all commits succeed.
    private mutating func pushes(after milliseconds: Int, room: Int) -> [UInt64] {
        moment.now = moment.now.advanced(byMilliseconds: milliseconds)
        moment.wall += Int64(milliseconds)
        core.leased(until: moment.now.advanced(byMilliseconds: 5_000))
        core.turn(moment) { _, _ in .open(room: room) }
        return carryOut()
    }

    private mutating func carryOut() -> [UInt64] {
        let orders = core.orders
        core.orders.removeAll()
        for (id, write) in orders.writes {
            if case .tier(let tier, _) = write.kind, let sheet = write.sheet {
                parked.append((sheet.lane.number, tier))
            }
            core.stored(id, at: Int64(id), moment)
        }
        let tags = orders.pushes.map(\.tag)
        if orders.commits.isEmpty { return tags }
        core.committed(orders.commitNumber, isDone: true, moment)
        core.turn(moment) { _, _ in .open(room: 0) }
        return tags + carryOut()
    }

    private mutating func refuse(_ tags: [UInt64]) {
        for tag in tags {
            let answer = PushAnswer(
                answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken")
            core.ended(tag, as: answer, moment)
        }
    }

    /// Opens the breaker. Each lane has four sheets, and APNs refuses three pushes.
    private mutating func open() throws {
        try arrive(0..<4)
        refuse(pushes(after: 1, room: 3))
        #expect(pushes(after: 1, room: 10).isEmpty)
    }

    @Test mutating func `one sheet of each lane comes back soon, even if the lane has a new owner`() throws {
        try open()
        for lane in 0..<Int32(Self.lanes) {
            #expect(parked.count { $0.lane == lane && $0.tier == .seconds5 } == 1)
            #expect(parked.count { $0.lane == lane && $0.tier == .minutes2 } >= 1)
        }
    }

    @Test mutating func `while one push probes, the others wait, and they leave when the setting is right`()
        throws
    {
        try open()
        parked.removeAll()
        #expect(pushes(after: 6_000, room: 10).isEmpty)
        try arrive(0..<2, topic: .later5s)
        let first = pushes(after: 1, room: 10)
        #expect(first.count == 1 && parked.isEmpty)
        #expect(pushes(after: 10, room: 10).isEmpty && parked.isEmpty)
        core.accepted(first[0], moment)
        #expect(pushes(after: 1, room: 10).count == 3 && parked.isEmpty)
    }

    @Test mutating func `after a failed probe jobs are parked, and one sheet of each lane comes back soon`()
        throws
    {
        try open()
        parked.removeAll()
        #expect(pushes(after: 6_000, room: 10).isEmpty)
        try arrive(0..<2, topic: .later5s)
        refuse(pushes(after: 1, room: 10))
        #expect(pushes(after: 1, room: 10).isEmpty)
        for lane in 0..<Int32(Self.lanes) {
            #expect(parked.count { $0.lane == lane && $0.tier == .seconds5 } == 1)
        }
    }
}
