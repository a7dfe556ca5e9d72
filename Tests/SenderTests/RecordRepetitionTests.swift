import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

/// One lane whose records are not always stored at the first try, and jobs that are tried again.
@Suite struct RecordRepetitionTests {
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)
    private var plan = DeliveryPlan(SenderLimits(), seed: 1)

    init() {
        plan.supersededIsRead()
        let metadata = CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 0)
        plan.assigned([
            LaneStart(
                lane: 0,
                partitions: JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) })
        ])
        plan.receiptsWereRead(lane: 0, until: 0, at: time)
    }

    private mutating func turn(isLeased: Bool = true, room: Int = 10) -> DeliveryActions {
        time.now = time.now.advanced(byMilliseconds: 400)
        time.unixMilliseconds += 400
        if isLeased { plan.leased(until: time.now.advanced(byMilliseconds: 5_000)) }
        plan.turn(at: time) { _, _ in .open(capacity: room) }
        defer { plan.actions.removeAll() }
        let number = plan.actions.commitNumber
        if !plan.actions.commits.isEmpty { plan.committed(number, isDone: true, at: time) }
        return plan.actions
    }

    /// Returns the id of the record by which a start is released: its intent is stored, and its lane is given up.
    private mutating func release() throws -> UInt64 {
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
        let intent = try #require(turn().writes.first)
        plan.stored(intent.id, offset: 0, at: time)
        #expect(turn(room: 0).pushes.isEmpty)
        plan.revoked(by: time.now.advanced(byMilliseconds: 4_000), at: time)
        let release = try #require(turn(room: 0).writes.first)
        #expect(release.write.receipt?.parts.map(\.outcome) == [.released] && !release.write.isRepeated)
        return release.id
    }

    @Test mutating func `a release that was not stored is written again with a lease`() throws {
        let id = try release()
        plan.writeFailed(id)
        let again = turn(room: 0).writes
        #expect(again.map(\.id) == [id])
        #expect(again.allSatisfy { $0.write.isRepeated }, "it is counted once")
    }

    @Test mutating func `a release that was not stored is not written again without a lease`() throws {
        let id = try release()
        plan.suspended()
        plan.writeFailed(id)
        for _ in 0..<5 { #expect(turn(isLeased: false).writes.isEmpty) }
        #expect(plan.sheetsInHand == 0 && plan.reservationCountOfApps == 0)
    }

    @Test mutating func `a move to a tier that is no try subtracts no try of an earlier push`() throws {
        plan.arrived(
            try SheetRecord.update(of: "shop", to: "0", in: "g", version: 1, at: time), from: .normal,
            lane: 0, offset: 0, at: time)
        plan.commitMetadata(at: time)
        let first = try #require(turn().pushes.first)
        plan.ended(first.tag, as: PushAnswer(.unknown(.connectionLost)), at: time)
        let second = try #require(turn().pushes.first)
        plan.ended(second.tag, as: PushAnswer(.notProcessed(.noProviderKey)), at: time)
        let origins = turn().writes.compactMap { write -> SheetOrigin? in
            if case .tier(_, let origin) = write.write.content { origin } else { nil }
        }
        #expect(origins.map(\.countedPushes) == [1], "the first push may have arrived")
    }
}
