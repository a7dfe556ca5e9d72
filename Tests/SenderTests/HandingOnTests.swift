import APNs
import Lifecycle
import LiveActivity
import Testing

@testable import Sender

/// A process that was stopped with a push in hand. Another owner may have done the job that it would move to
/// a tier.
@Suite struct HandingOnTests {
    private var moment = Moment(now: Instant(nanoseconds: 1_000_000_000_000), wall: 1_763_600_000_000)
    private var core = SenderCore(SenderLimits(), seed: 1)

    private var push: UInt64 = 0

    /// Sends one push that fails after a stop, so that its job has to move to a tier.
    init() throws {
        core.informed()
        core.assigned([
            LaneStart(lane: 0, tracks: JobTopic.allCases.map { _ in LaneStart.Track(base: 0, note: nil) })
        ])
        core.foundAll(lane: 0, end: 0, moment)
        let record = try SheetRecord.update(of: "shop", to: "0", in: "g", version: 1, at: moment)
        core.arrived(record, from: .usual, lane: 0, at: 0, moment)
        core.leaveWord(moment)
        push = try #require(turn(isLeased: true, after: 0).pushes.first).tag
        core.suspended()
        core.ended(
            push, as: PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"), moment)
    }

    private mutating func turn(isLeased: Bool, after milliseconds: Int = 100) -> SenderOrders {
        moment.now = moment.now.advanced(byMilliseconds: milliseconds)
        moment.wall += Int64(milliseconds)
        if isLeased { core.leased(until: moment.now.advanced(byMilliseconds: 5_000)) }
        core.turn(moment) { _, _ in .open(room: 10) }
        defer { core.orders.removeAll() }
        return core.orders
    }

    private func movesOf(_ orders: SenderOrders) -> Int {
        orders.writes.count { if case .tier = $0.write.kind { true } else { false } }
    }

    @Test mutating func `nothing moves to a tier before the group confirms the lane`() {
        for _ in 0..<20 { #expect(turn(isLeased: false).writes.isEmpty) }
        #expect(movesOf(turn(isLeased: true)) == 1)
        #expect(turn(isLeased: true).writes.isEmpty, "once")
    }

    @Test mutating func `no job of a lost lane moves to a tier`() {
        #expect(turn(isLeased: false).writes.isEmpty)
        core.lost(moment)
        for _ in 0..<20 { #expect(turn(isLeased: true).writes.isEmpty) }
        #expect(core.sheetsInHand == 0)
    }

    @Test mutating func `a failed move to a tier is not tried again without a lease`() throws {
        let id = try #require(turn(isLeased: true).writes.first?.id)
        core.suspended()
        core.failed(id)
        for _ in 0..<20 { #expect(turn(isLeased: false).writes.isEmpty) }
        #expect(turn(isLeased: true).writes.map(\.id) == [id])
        core.suspended()
        core.failed(id)
        core.lost(moment)
        for _ in 0..<20 { #expect(turn(isLeased: true).writes.isEmpty) }
        #expect(core.sheetsInHand == 0)
    }
}
