import APNs
import Lifecycle
import Testing

@testable import Sender

/// Tests of a process that was stopped (SIGSTOP) with a push in flight whose job must then move to a tier. Meanwhile
/// another owner may have done the job. So the plan moves it only with a lease: the group has confirmed that the lane
/// is its own.
@Suite struct JobTransferTests {
    private var time = CurrentTime.testStart
    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    /// The tag of the push.
    private var pushTag: UInt64 = 0

    /// Sends one push. It fails after the process was stopped.
    init() throws {
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: nil)])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        let record = try SheetRecord.update(of: "shop", to: "0", in: "g", version: 1, at: time)
        plan.arrived(record, from: .normal, lane: 0, offset: 0, at: time)
        plan.commitMetadata(at: time)
        pushTag = try #require(step(isLeased: true, after: 0).pushes.first).tag
        plan.suspended()
        plan.ended(
            pushTag, as: PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"),
            at: time)
    }

    /// Lets the plan make one step, and returns its actions.
    private mutating func step(isLeased: Bool, after milliseconds: Int = 100) -> DeliveryActions {
        time.advance(byMilliseconds: milliseconds)
        if isLeased { plan.leased(until: time.now.advanced(byMilliseconds: 5_000)) }
        plan.step(at: time) { _, _ in .open(capacity: 10) }
        let actions = plan.actions
        plan.actions.removeAll()
        return actions
    }

    /// Returns the number of sheets that move to a tier.
    private func moveCount(in actions: DeliveryActions) -> Int {
        actions.writes.count { if case .tier = $0.write.content { true } else { false } }
    }

    @Test mutating func `nothing moves to a tier before the group confirms the lane`() {
        for _ in 0..<20 { #expect(step(isLeased: false).writes.isEmpty) }
        #expect(moveCount(in: step(isLeased: true)) == 1)
        #expect(step(isLeased: true).writes.isEmpty, "the job moves twice")
    }

    @Test mutating func `no job of a lost lane moves to a tier`() {
        #expect(step(isLeased: false).writes.isEmpty)
        plan.lost(at: time)
        for _ in 0..<20 { #expect(step(isLeased: true).writes.isEmpty) }
        #expect(plan.sheetCount == 0)
    }

    @Test mutating func `a failed move to a tier is not tried again after the end of the lease`() throws {
        let id = try #require(step(isLeased: true).writes.first?.id)
        // The loop was delayed, but not so long that the process counts as suspended.
        time.advance(byMilliseconds: 5_001)
        plan.writeFailed(id, at: time)
        #expect(plan.actions.writes.isEmpty)
        #expect(step(isLeased: true).writes.map(\.id) == [id])
    }

    @Test mutating func `a failed move to a tier is not tried again without a lease`() throws {
        let id = try #require(step(isLeased: true).writes.first?.id)
        plan.suspended()
        plan.writeFailed(id, at: time)
        for _ in 0..<20 { #expect(step(isLeased: false).writes.isEmpty) }
        #expect(step(isLeased: true).writes.map(\.id) == [id])
        plan.suspended()
        plan.writeFailed(id, at: time)
        plan.lost(at: time)
        for _ in 0..<20 { #expect(step(isLeased: true).writes.isEmpty) }
        #expect(plan.sheetCount == 0)
    }
}
