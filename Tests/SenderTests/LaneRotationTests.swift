import APNs
import Lifecycle
import Testing

@testable import Sender

/// Tests of the order of lanes. One `DeliveryPlan` has three lanes, and Kafka delivers the sheets of one lane after the
/// other. The lanes must take turns.
@Suite struct LaneRotationTests {
    private static let lanes = 3
    private static let sheetsPerLane: Int64 = 4

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime.testStart

    private mutating func assignAll() {
        plan.supersededIsRead()
        plan.assigned((0..<Self.lanes).map { LaneStart(lane: Int32($0), metadata: .returnedInOrder()) })
        for lane in 0..<Self.lanes { plan.receiptReadEnded(lane: Int32(lane), until: 0, at: time) }
    }

    /// Delivers an update to every lane, in four sheets with one phone each.
    private mutating func arriveAll(version: Int64, from firstOffset: Int64) throws {
        for lane in 0..<Self.lanes {
            for offset in firstOffset..<firstOffset + Self.sheetsPerLane {
                let sheet = try SheetRecord.update(
                    of: "shop", to: "\(lane)-\(offset)", in: "match", version: version, at: time)
                plan.arrived(sheet, from: .normal, lane: Int32(lane), offset: offset, at: time)
            }
        }
        plan.commitMetadata(at: time)
    }

    /// Lets APNs take up to `capacity` pushes. Returns their lanes.
    private mutating func lanesServed(capacity: Int) -> [Int32] {
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.step(at: time) { _, _ in .open(capacity: capacity) }
        let pushes = plan.actions.pushes
        for push in pushes { plan.accepted(push.tag, at: time) }
        plan.actions.removeAll()
        return pushes.map(\.sheet.lane.number)
    }

    @Test mutating func `lanes take turns, although one was read before the other`() throws {
        assignAll()
        // A lane's turn is four sheets, and each sheet has one push.
        try arriveAll(version: 1, from: 0)
        #expect(lanesServed(capacity: 5) == [0, 0, 0, 0, 1])
        #expect(lanesServed(capacity: 5) == [1, 1, 1, 2, 2])
        #expect(lanesServed(capacity: 5) == [2, 2])
    }

    @Test mutating func `no lane is left out if the next update comes before a pass is done`() throws {
        assignAll()
        var servedLanes: Set<Int32> = []
        for update in 0..<4 {
            try arriveAll(version: Int64(update) + 1, from: Int64(update) * Self.sheetsPerLane)
            servedLanes.formUnion(lanesServed(capacity: Self.lanes))
        }
        #expect(servedLanes.count == Self.lanes)
    }
}
