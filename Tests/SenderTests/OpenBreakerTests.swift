import APNs
import Lifecycle
import Testing

@testable import Sender

/// One process with two lanes and an app whose setting is wrong.
@Suite struct OpenBreakerTests {
    private static let lanes = 2

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)
    /// Sheets that moved to a tier.
    private var parked: [(lane: Int32, tier: LaterTier)] = []

    init() {
        plan.supersededIsRead()
        let metadata = CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 0)
        let partitions = JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) }
        plan.assigned((0..<Self.lanes).map { LaneStart(lane: Int32($0), partitions: partitions) })
        for lane in 0..<Self.lanes { plan.receiptsWereRead(lane: Int32(lane), until: 0, at: time) }
    }

    private mutating func arrive(_ offsets: Range<Int64>, topic: JobTopic = .normal) throws {
        for lane in 0..<Self.lanes {
            for offset in offsets {
                let sheet = try SheetRecord.update(
                    of: "shop", to: "\(lane)-\(offset)", in: "g\(lane)-\(offset)", version: 1, at: time)
                plan.arrived(sheet, from: topic, lane: Int32(lane), offset: offset, at: time)
            }
        }
        plan.commitMetadata(at: time)
    }

    /// Returns the pushes that leave after some time. All writes are stored and all commits succeed.
    private mutating func pushes(after milliseconds: Int, room: Int) -> [UInt64] {
        time.now = time.now.advanced(byMilliseconds: milliseconds)
        time.unixMilliseconds += Int64(milliseconds)
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.turn(at: time) { _, _ in .open(capacity: room) }
        return carryOut()
    }

    private mutating func carryOut() -> [UInt64] {
        let actions = plan.actions
        plan.actions.removeAll()
        for (id, write) in actions.writes {
            if case .tier(let tier, _) = write.content, let sheet = write.sheet {
                parked.append((sheet.lane.number, tier))
            }
            plan.stored(id, offset: Int64(id), at: time)
        }
        let tags = actions.pushes.map(\.tag)
        if actions.commits.isEmpty { return tags }
        plan.committed(actions.commitNumber, isDone: true, at: time)
        plan.turn(at: time) { _, _ in .open(capacity: 0) }
        return tags + carryOut()
    }

    private mutating func refuse(_ tags: [UInt64]) {
        for tag in tags {
            let answer = PushAnswer(
                answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken")
            plan.ended(tag, as: answer, at: time)
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
        plan.accepted(first[0], at: time)
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
