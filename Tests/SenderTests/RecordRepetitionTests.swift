import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

/// Tests of records that are not stored at the first try, and of jobs that are pushed again. A `DeliveryPlan` has one
/// lane. If the record is a transfer to the next owner of the lane, the plan writes it again only while it has the
/// lease.
@Suite struct RecordRepetitionTests {
    private var time = CurrentTime.testStart
    private var plan = DeliveryPlan(SenderLimits(), seed: 1)

    init() {
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder())])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
    }

    /// Lets the plan make one step, and returns its actions. All commits succeed.
    ///
    /// - Parameter capacity: The number of pushes that APNs takes.
    private mutating func step(isLeased: Bool = true, capacity: Int = 10) -> DeliveryActions {
        time.advance(byMilliseconds: 400)
        if isLeased { plan.leased(until: time.now.advanced(byMilliseconds: 5_000)) }
        plan.step(at: time) { _, _ in .open(capacity: capacity) }
        let number = plan.actions.commitNumber
        if !plan.actions.commits.isEmpty { plan.committed(number, isAccepted: true, at: time) }
        let actions = plan.actions
        plan.actions.removeAll()
        return actions
    }

    /// Gives up the lane of a start whose intent is stored and that has not left. Returns the id of the record that
    /// releases it to the next owner.
    private mutating func releaseStart() throws -> UInt64 {
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 9,
            event: .start, deadline: time.unixMilliseconds / 1000 + 3_600, acceptedAt: time.unixMilliseconds)
        let content = SheetContent(
            body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
            to: Array("00\ti\tstart:T\ti:i\n".utf8))
        plan.arrived(
            try SheetRecord(content, origin: nil), from: .normal, lane: 0, offset: 0, at: time)
        plan.commitMetadata(at: time)
        let intent = try #require(step().writes.first)
        plan.stored(intent.id, offset: 0, at: time)
        #expect(step(capacity: 0).pushes.isEmpty)
        plan.revoked(by: time.now.advanced(byMilliseconds: 4_000), at: time)
        let release = try #require(step(capacity: 0).writes.first)
        #expect(release.write.receipt?.parts.map(\.outcome) == [.released] && !release.write.isRepeated)
        return release.id
    }

    @Test mutating func `a release that was not stored is written again with a lease`() throws {
        let id = try releaseStart()
        plan.writeFailed(id, at: time)
        let repeatedWrites = step(capacity: 0).writes
        #expect(repeatedWrites.map(\.id) == [id])
        #expect(repeatedWrites.allSatisfy { $0.write.isRepeated }, "it is counted once")
    }

    @Test mutating func `a release that was not stored is not written again without a lease`() throws {
        let id = try releaseStart()
        plan.suspended()
        plan.writeFailed(id, at: time)
        for _ in 0..<5 { #expect(step(isLeased: false).writes.isEmpty) }
        #expect(plan.sheetCount == 0 && plan.reservationCountOfApps == 0)
    }

    /// Drops a waiting update after the process was stopped, because a newer one is known.
    private mutating func dropUpdateAfterStop() throws {
        plan.arrived(
            try SheetRecord.update(of: "shop", to: "0", in: "g", version: 1, at: time), from: .normal,
            lane: 0, offset: 0, at: time)
        plan.commitMetadata(at: time)
        #expect(step(capacity: 0).writes.isEmpty)
        plan.suspended()
        plan.superseded(
            SupersededVersions(app: "shop", group: "g", updateVersion: 2, endVersion: 0), at: time)
        for _ in 0..<5 { #expect(step(isLeased: false).writes.isEmpty, "another owner may push the job") }
    }

    @Test mutating func `a job that is dropped without a lease gets its receipt with the next one`() throws {
        try dropUpdateAfterStop()
        let receipts = step().writes.compactMap(\.write.receipt)
        #expect(receipts.map { $0.parts.map(\.outcome) } == [[.superseded]])
        #expect(step().writes.isEmpty)
    }

    @Test mutating func `a job that is dropped without a lease is left to the next owner of its lane`() throws
    {
        try dropUpdateAfterStop()
        plan.lost(at: time)
        for _ in 0..<5 { #expect(step().writes.isEmpty) }
        #expect(plan.sheetCount == 0)
    }

    @Test mutating func `a move to a tier that counts as no try keeps the tries of earlier pushes`() throws {
        plan.arrived(
            try SheetRecord.update(of: "shop", to: "0", in: "g", version: 1, at: time), from: .normal,
            lane: 0, offset: 0, at: time)
        plan.commitMetadata(at: time)
        let first = try #require(step().pushes.first)
        plan.ended(first.tag, as: PushAnswer(.unknown(.connectionLost)), at: time)
        let second = try #require(step().pushes.first)
        plan.ended(second.tag, as: PushAnswer(.notProcessed(.noProviderKey)), at: time)
        let origins = step().writes.compactMap { write -> SheetOrigin? in
            if case .tier(_, let origin) = write.write.content { origin } else { nil }
        }
        #expect(origins.map(\.earlierTries) == [1], "the first push may have arrived")
    }
}
