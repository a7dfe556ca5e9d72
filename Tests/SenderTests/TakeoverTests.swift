import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

/// Tests of the takeover of a lane whose earlier owner died or gave it back. Before a new owner pushes, it must read
/// the receipts of earlier owners and commit metadata, so that its own successor knows which receipts to read. Each
/// test plays the cluster for one `DeliveryPlan`.
@Suite struct TakeoverTests {
    /// The position of the first sheet, which has one job.
    private static let sheetPosition = JobPosition(topic: JobTopic.normal.word, partition: 0, offset: 0)

    /// The numbers of the plan and of another process as owners.
    private static let owner: UInt64 = 1
    private static let otherOwner: UInt64 = 2

    private var time = CurrentTime.testStart
    private var plan: DeliveryPlan

    init() {
        plan = DeliveryPlan(SenderLimits(), seed: 1, owner: Self.owner)
        plan.supersededIsRead()
    }

    private func head() -> SheetHead {
        SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 1,
            event: .update, deadline: time.unixMilliseconds / 1000 + 3_600, acceptedAt: time.unixMilliseconds)
    }

    /// Returns a sheet with one job.
    ///
    /// - Parameter origin: The origin of a sheet in a tier.
    private func sheet(from origin: SheetOrigin? = nil) throws -> SheetRecord {
        try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head().apnsLines, flotilla: head().flotillaLines,
                to: Array("00\ti\tupdate:a\ti:i\n".utf8)), origin: origin?.headerValue)
    }

    /// A receipt that the job of the first sheet was accepted.
    private var acceptedReceipt: Receipt {
        Receipt(
            head(), at: Self.sheetPosition, attempt: 1, writtenAt: time.unixMilliseconds,
            parts: [Receipt.Part(.accepted, lines: LineSet(all: 1))])
    }

    /// Assigns the lane to the plan.
    ///
    /// - Parameters:
    ///   - metadata: The committed metadata of the earlier owner. Nil for a lane without one.
    ///   - normalOffset: The committed offset of `jobs`.
    private mutating func assign(_ metadata: CommitMetadata?, normalOffset: Int64 = 0) {
        plan.assigned([
            LaneStart(
                lane: 0,
                partitions: JobTopic.allCases.map { topic in
                    LanePartitionStart(base: topic == .normal ? normalOffset : 0, metadata: metadata)
                })
        ])
    }

    /// Lets the plan make one step with the lease, and returns its actions.
    private mutating func step(after milliseconds: Int = 0) -> DeliveryActions {
        time.advance(byMilliseconds: milliseconds)
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.step(at: time) { _, _ in .open(capacity: 10) }
        let actions = plan.actions
        plan.actions.removeAll()
        return actions
    }

    /// Stores our marker at this offset of `receipts`, and ends the read, which goes up to the marker.
    private mutating func endReceiptRead(atMarker offset: Int64) {
        plan.takeoverMarkerIsStored(lane: 0, at: offset)
        plan.receiptReadEnded(lane: 0, until: offset, at: time)
    }

    @Test
    mutating func `a job that is also in a tier is done if its first sheet was done and committed`()
        throws
    {
        // An owner moved the job and died before `receipts` had it. The next owner pushed and committed the
        // first sheet.
        assign(CommitMetadata(receiptsFrom: 0, window: 1_000), normalOffset: 1)
        plan.receiptWasRead(acceptedReceipt, lane: 0)
        plan.receiptReadEnded(lane: 0, until: 1, at: time)
        let origin = SheetOrigin(
            topic: Self.sheetPosition.topic, partition: 0, offset: 0, lines: LineSet(all: 1), attempt: 2,
            earlierTries: 1, dueAt: time.unixMilliseconds)
        plan.arrived(try sheet(from: origin), from: .later5s, lane: 0, offset: 0, at: time)
        // After the settling time the receipts are read again.
        _ = step(after: 10_000)
        plan.receiptReadEnded(lane: 0, until: 1, at: time)
        let actions = step(after: 1)
        #expect(actions.pushes.isEmpty)
        #expect(plan.sheetCount == 0)
    }

    @Test(arguments: [nil, CommitMetadata.returnedInOrder()])
    mutating func
        `a new owner of a fresh or returned lane commits metadata before its first push`(
            metadata: CommitMetadata?
        ) throws
    {
        assign(metadata)
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        plan.arrived(try sheet(), from: .normal, lane: 0, offset: 0, at: time)
        let firstStep = step(after: 1)
        #expect(firstStep.pushes.isEmpty)
        #expect(
            firstStep.commits.contains { $0.topic == .normal && $0.offset == 0 && $0.metadata.window > 0 })
        #expect(
            firstStep.commits.map(\.topic) == JobTopic.allCases,
            "another topic would have to wait for its own metadata later")
        plan.committed(firstStep.commitNumber, isAccepted: true, at: time)
        #expect(step(after: 1).pushes.count == 1)
    }

    /// A node of the cluster died, and the group gave the lane to the same process again.
    @Test mutating func `an owner that gets its lane back does not wait for itself`() throws {
        let metadata = CommitMetadata(receiptsFrom: 3, window: 1_000, owner: Self.owner)
        assign(metadata)
        plan.receiptWasRead(acceptedReceipt, lane: 0)
        plan.takeoverMarkerWasRead(TakeoverMarker(owner: Self.owner), lane: 0, at: 4)
        endReceiptRead(atMarker: 5)
        let events = step().events
        #expect(events == [.opened(lane: 0)])
    }

    @Test(
        arguments: [
            (metadata: owner, marker: otherOwner), (metadata: otherOwner, marker: owner),
            (metadata: nil, marker: owner),
        ] as [(metadata: UInt64?, marker: UInt64)])
    mutating func `an owner waits if another process may have had the lane meanwhile`(
        owners: (metadata: UInt64?, marker: UInt64)
    ) throws {
        assign(CommitMetadata(receiptsFrom: 3, window: 1_000, owner: owners.metadata))
        plan.takeoverMarkerWasRead(TakeoverMarker(owner: owners.marker), lane: 0, at: 4)
        endReceiptRead(atMarker: 5)
        let firstStep = step()
        #expect(
            firstStep.events == [
                .settling(lane: 0, milliseconds: SenderLimits().settleMilliseconds)
            ])
        // After that time it reads up to a new marker.
        #expect(step(after: SenderLimits().settleMilliseconds).receiptReads.map(\.from) == [5])
    }

    /// Another process had the lane only for a moment, as when a second process joins the group.
    @Test(arguments: [5, 6]) mutating func `an owner that left a marker and no receipt is not waited for`(
        firstMarker: Int64
    ) throws {
        assign(CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 5, owner: Self.otherOwner))
        for offset in firstMarker..<7 {
            plan.takeoverMarkerWasRead(TakeoverMarker(owner: 3), lane: 0, at: offset)
        }
        endReceiptRead(atMarker: 7)
        // If the markers begin at 6, the record at 5 is a receipt, so its owner has pushed.
        let isReceiptAt5 = firstMarker == 6
        let waits =
            step().events == [
                .settling(lane: 0, milliseconds: SenderLimits().settleMilliseconds)
            ]
        #expect(waits == isReceiptAt5)
    }

    @Test mutating func `an owner that waits for another one does not name itself in its metadata`() throws {
        assign(CommitMetadata(receiptsFrom: 0, window: 1, owner: Self.otherOwner))
        endReceiptRead(atMarker: 5)
        // The second sheet lies above the other owner's window, so our metadata is committed for it.
        for offset: Int64 in 0..<2 {
            plan.arrived(try sheet(), from: .normal, lane: 0, offset: offset, at: time)
        }
        let firstStep = step(after: 1)
        #expect(!firstStep.commits.isEmpty && firstStep.commits.allSatisfy { $0.metadata.owner == nil })
        plan.committed(firstStep.commitNumber, isAccepted: true, at: time)
        #expect(!step(after: SenderLimits().settleMilliseconds).receiptReads.isEmpty)
        endReceiptRead(atMarker: 6)
        _ = step(after: 1)
        plan.revoked(by: time.now.advanced(byMilliseconds: 10_000), at: time)
        let lastCommits = step(after: 10_001).commits
        #expect(!lastCommits.isEmpty && lastCommits.allSatisfy { $0.metadata.owner == Self.owner })
    }

    @Test mutating func `the end of an owner that leaves in order lies behind its own marker`() throws {
        assign(CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 5, owner: Self.otherOwner))
        endReceiptRead(atMarker: 5)
        for topic in JobTopic.allCases { plan.reachedEnd(of: topic, lane: 0, at: 0) }
        #expect(step().events == [.opened(lane: 0)])
        plan.revoked(by: time.now.advanced(byMilliseconds: 10_000), at: time)
        let metadata = try #require(step().commits.first?.metadata)
        #expect(metadata.endedAt == 6 && metadata.owner == Self.owner)
    }

    @Test mutating func `a commit result of an earlier assignment does not count`() throws {
        assign(nil)
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        plan.arrived(try sheet(), from: .normal, lane: 0, offset: 0, at: time)
        let firstStep = step(after: 1)
        plan.lost(at: time)
        _ = step(after: 1)
        assign(nil)
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        plan.arrived(try sheet(), from: .normal, lane: 0, offset: 0, at: time)
        let stepAfterReassignment = step(after: 5_000)
        #expect(!stepAfterReassignment.commits.isEmpty)
        plan.committed(firstStep.commitNumber, isAccepted: true, at: time)
        #expect(step(after: 1).pushes.isEmpty)
        plan.committed(stepAfterReassignment.commitNumber, isAccepted: true, at: time)
        #expect(step(after: 1).pushes.count == 1)
    }

    @Test mutating func `an owner that returns a lane with waiting sheets names the start of their receipts`()
        throws
    {
        assign(CommitMetadata(receiptsFrom: 0, window: 1))
        plan.receiptWasRead(acceptedReceipt, lane: 0)
        plan.receiptReadEnded(lane: 0, until: 1, at: time)
        // All sheets that the earlier owner may have begun were read, and wait.
        plan.arrived(try sheet(), from: .normal, lane: 0, offset: 0, at: time)
        _ = step(after: 100)
        plan.revoked(by: time.now.advanced(byMilliseconds: 10_000), at: time)
        let actions = step(after: 100)
        #expect(actions.isLastCommit)
        let metadata = actions.commits.first { $0.topic == .normal }?.metadata
        #expect(metadata?.receiptsFrom == 0)
        #expect(metadata?.endedAt == nil)
    }

    @Test mutating func `the last receipts of an earlier owner are read, although they lie before ours`()
        throws
    {
        var limits = SenderLimits()
        limits.window = 1_000
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        assign(CommitMetadata(receiptsFrom: 0, window: 1))
        plan.receiptWasRead(acceptedReceipt, lane: 0)
        plan.receiptReadEnded(lane: 0, until: 5, at: time)
        // Sheets above the earlier owner's window flow while the others wait.
        for offset in 0..<3 {
            plan.arrived(try sheet(), from: .normal, lane: 0, offset: Int64(offset), at: time)
        }
        // Our own receipts are stored far behind those that were read.
        var nextReceiptOffset: Int64 = 9
        for _ in 0..<5 {
            let actions = step(after: 100)
            for push in actions.pushes { plan.accepted(push.tag, at: time) }
            for (id, _) in actions.writes {
                plan.stored(id, offset: nextReceiptOffset, at: time)
                nextReceiptOffset += 1
            }
            if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isAccepted: true, at: time) }
        }
        let reads = step(after: 10_000).receiptReads
        #expect(reads == [DeliveryActions.ReceiptRead(lane: 0, from: 5)])
    }

    @Test mutating func `a topic without jobs does not make a successor read old receipts`() throws {
        assign(nil)
        plan.receiptReadEnded(lane: 0, until: 50_000, at: time)
        for topic in JobTopic.allCases { plan.reachedEnd(of: topic, lane: 0, at: 0) }
        let commits = step(after: 2_000).commits
        #expect(commits.map(\.metadata.receiptsFrom) == [50_000, 50_000, 50_000, 50_000])
    }
}
