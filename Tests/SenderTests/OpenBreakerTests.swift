import APNs
import Lifecycle
import Testing

@testable import Sender

/// Tests of an app whose setting is wrong, so that its breaker is open. One `DeliveryPlan` has two lanes. The app's
/// sheets wait in the long tier, except one sheet of each lane: it comes back soon, and its push probes whether the
/// setting is right now.
@Suite struct OpenBreakerTests {
    private static let lanes = 2
    private static let sheetsPerLane: Int64 = 4
    /// The number of refused pushes after which the breaker opens.
    private static let refusalsToOpen = 3
    /// A time after which a push may probe.
    private static let probeIsDueMilliseconds = Breaker.probePauseMilliseconds + 1_000
    /// The number of pushes that APNs takes at a time. It is more than there are.
    private static let largeCapacity = 10

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime.testStart
    /// The sheets that moved to a tier.
    private var movedSheets: [(lane: Int32, tier: LaterTier)] = []

    init() {
        plan.supersededIsRead()
        plan.assigned((0..<Self.lanes).map { LaneStart(lane: Int32($0), metadata: .returnedInOrder()) })
        for lane in 0..<Self.lanes { plan.receiptReadEnded(lane: Int32(lane), until: 0, at: time) }
    }

    /// Delivers sheets with one phone each to every lane.
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

    /// Returns the tags of the pushes that leave after some time. All writes are stored and all commits succeed.
    private mutating func pushes(after milliseconds: Int, capacity: Int = OpenBreakerTests.largeCapacity)
        -> [UInt64]
    {
        time.advance(byMilliseconds: milliseconds)
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.step(at: time) { _, _ in .open(capacity: capacity) }
        return carryOut()
    }

    /// Carries out the plan's actions. Returns the tags of their pushes.
    private mutating func carryOut() -> [UInt64] {
        let actions = plan.actions
        plan.actions.removeAll()
        for (id, write) in actions.writes {
            if case .tier(let tier, _) = write.content, let sheet = write.sheet {
                movedSheets.append((sheet.lane.number, tier))
            }
            plan.stored(id, offset: Int64(id), at: time)
        }
        let tags = actions.pushes.map(\.tag)
        if actions.commits.isEmpty { return tags }
        plan.committed(actions.commitNumber, isAccepted: true, at: time)
        plan.step(at: time) { _, _ in .open(capacity: 0) }
        return tags + carryOut()
    }

    private mutating func refuse(_ tags: [UInt64]) {
        for tag in tags {
            let answer = PushAnswer(
                answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken")
            plan.ended(tag, as: answer, at: time)
        }
    }

    /// Opens the breaker: APNs refuses three pushes.
    private mutating func openBreaker() throws {
        try arrive(0..<Self.sheetsPerLane)
        refuse(pushes(after: 1, capacity: Self.refusalsToOpen))
        #expect(pushes(after: 1).isEmpty)
    }

    private func movedCount(ofLane lane: Int32, to tier: LaterTier) -> Int {
        movedSheets.count { $0.lane == lane && $0.tier == tier }
    }

    @Test mutating func `one sheet of each lane comes back soon, and the others come back later`() throws {
        try openBreaker()
        for lane in 0..<Int32(Self.lanes) {
            #expect(movedCount(ofLane: lane, to: .seconds5) == 1, "lane \(lane)")
            #expect(movedCount(ofLane: lane, to: .minutes2) >= 1, "lane \(lane)")
        }
    }

    @Test mutating func `while one push probes, the others wait, and they leave when the setting is right`()
        throws
    {
        try openBreaker()
        movedSheets.removeAll()
        #expect(pushes(after: Self.probeIsDueMilliseconds).isEmpty)
        // Two sheets of each lane come back.
        try arrive(0..<2, topic: .later5s)
        let probes = pushes(after: 1)
        #expect(probes.count == 1)
        #expect(pushes(after: 10).isEmpty)
        plan.accepted(probes[0], at: time)
        #expect(pushes(after: 1).count == 3)
        #expect(movedSheets.isEmpty)
    }

    @Test mutating func `after a probe that APNs did not process, the next push probes at once`() throws {
        try openBreaker()
        #expect(pushes(after: Self.probeIsDueMilliseconds).isEmpty)
        movedSheets.removeAll()
        try arrive(0..<2, topic: .later5s)
        let first = try #require(pushes(after: 1).first)
        plan.unusable(first, code: "token_unreadable", at: time)
        let second = try #require(pushes(after: 1).first, "a job that is no request delays the next probe")
        plan.ended(second, as: PushAnswer(.notProcessed(.refused)), at: time)
        let third = try #require(pushes(after: 1).first, "a push that did not arrive delays the next probe")
        plan.accepted(third, at: time)
        #expect(!pushes(after: 1).isEmpty)
        #expect(movedSheets.isEmpty)
    }

    @Test
    mutating func `after a failed probe jobs move to tiers, and one sheet of each lane comes back soon`()
        throws
    {
        try openBreaker()
        movedSheets.removeAll()
        #expect(pushes(after: Self.probeIsDueMilliseconds).isEmpty)
        try arrive(0..<2, topic: .later5s)
        refuse(pushes(after: 1))
        #expect(pushes(after: 1).isEmpty)
        for lane in 0..<Int32(Self.lanes) {
            #expect(movedCount(ofLane: lane, to: .seconds5) == 1, "lane \(lane)")
        }
    }
}
