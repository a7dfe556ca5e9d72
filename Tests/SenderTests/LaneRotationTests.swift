import APNs
import Lifecycle
import Testing

@testable import Sender

/// One process with three lanes. Kafka delivers their records one lane after the other.
@Suite struct LaneRotationTests {
    private static let lanes = 3
    private static let sheetsPerLane: Int64 = 4

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)

    private mutating func assignAll() {
        plan.supersededIsRead()
        let metadata = CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 0)
        let partitions = JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) }
        plan.assigned((0..<Self.lanes).map { LaneStart(lane: Int32($0), partitions: partitions) })
        for lane in 0..<Self.lanes { plan.receiptsWereRead(lane: Int32(lane), until: 0, at: time) }
    }

    private mutating func arriveAll(version: Int64, from first: Int64) throws {
        for lane in 0..<Self.lanes {
            for offset in first..<first + Self.sheetsPerLane {
                let sheet = try SheetRecord.update(
                    of: "shop", to: "\(lane)-\(offset)", in: "match", version: version, at: time)
                plan.arrived(sheet, from: .normal, lane: Int32(lane), offset: offset, at: time)
            }
        }
        plan.commitMetadata(at: time)
    }

    /// Returns the lanes of the pushes that leave while APNs takes only some.
    private mutating func lanesServed(room: Int) -> [Int32] {
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.turn(at: time) { _, _ in .open(capacity: room) }
        defer { plan.actions.removeAll() }
        for push in plan.actions.pushes { plan.accepted(push.tag, at: time) }
        return plan.actions.pushes.map(\.sheet.lane.number)
    }

    @Test mutating func `lanes take turns, although one was read before the other`() throws {
        assignAll()
        // A turn is four sheets.
        try arriveAll(version: 1, from: 0)
        #expect(lanesServed(room: 5) == [0, 0, 0, 0, 1])
        #expect(lanesServed(room: 5) == [1, 1, 1, 2, 2])
        #expect(lanesServed(room: 5) == [2, 2])
    }

    @Test mutating func `no lane is left out if the next update comes before a pass is done`() throws {
        assignAll()
        var served: Set<Int32> = []
        for update in 0..<4 {
            try arriveAll(version: Int64(update) + 1, from: Int64(update) * Self.sheetsPerLane)
            served.formUnion(lanesServed(room: Self.lanes))
        }
        #expect(served.count == Self.lanes)
    }
}
