internal import Containers
internal import Jobs
internal import Lifecycle

/// The lanes of one event loop. This file takes them over. Extensions decide the rest:
///
/// - `+Sheets`: which sheets begin, and when.
/// - `+Ends`: whether all sheets of earlier owners were read.
/// - `+Commits`: which offsets are committed.
/// - `+Release`: how lanes are given up.
///
/// **Takeover.** A lane must not push jobs that an earlier owner has pushed. The earlier owner has stored the outcomes
/// of its pushes in `receipts`, so the lane reads these first. If the earlier owner may still have pushes in flight,
/// the lane waits until they have ended, and reads their receipts too. Each lane is in one phase (`LanePhase`):
///
/// | phase | a lane enters it | the lane waits until |
/// |---|---|---|
/// | `awaitingOrphan` | when it is assigned, if we had it before and its pushes of that time have not all ended. The lane of that time is then an orphan. | the orphan is drained: none of its sheets is in hand, and none of its records is being written |
/// | `readingReceipts` | when it is assigned without an orphan, or when the orphan is drained | the ledger has the receipts up to a marker that we write |
/// | `settling` | after this read, if an earlier owner may still have pushes in flight | these pushes have surely ended |
/// | `rereadingReceipts` | when the time for settling is over | the receipts that the earlier owner wrote in that time are read, up to another marker |
/// | `open` | after the second read, or after the first one if no earlier owner may have pushes in flight | it is given up |
/// | `releasing`, `orphaned` | when it is given up | its pushes have ended and its records are stored |
///
/// Sheets begin in the phases `settling`, `rereadingReceipts` and `open`. Functions that let sheets begin return them,
/// and the plan queues their lines for dispatch.
struct LaneOwnership {
    let limits: SenderLimits
    /// The number of this loop in markers and metadata.
    let owner: UInt64
    /// The owned lanes, by number.
    var lanes: [Int32: Lane] = [:]
    /// The lanes of earlier assignments that are not drained.
    var orphans: [Lane] = []
    /// The time until which no other process can own the lanes.
    var lease = Lease()

    // MARK: State of the takeovers

    /// Whether a lane may be in the phase `settling`.
    private var mayHaveSettlingLanes = false
    /// Whether a lane has opened since the last `confirmEnds`, so that it may have unconfirmed ends.
    var mayHaveUnconfirmedEnds = false

    // MARK: Reading, commits and release

    var pausing = PartitionPausing()
    /// Number of sheets in all lanes that lie above the window. They wait for a commit, which moves the window.
    var sheetsAwaitingWindowCount = 0
    var commits = OffsetCommits()
    /// Deadline for giving the partitions back; nil unless the group has asked for them.
    var releaseBy: Instant?

    init(_ limits: SenderLimits, owner: UInt64) { (self.limits, self.owner) = (limits, owner) }

    var count: Int { lanes.count }
    /// Number of lanes that may not push yet: they wait for an orphan, or for the receipts of earlier owners.
    var takeoverCount: Int { lanes.values.count { !$0.mayPush && !$0.isLeaving } }
    /// Acceptance time of the oldest send that waits in a tier, in milliseconds since 1970.
    var oldestAcceptedAtInTiers: Int64? {
        lanes.values.lazy.flatMap { lane in
            JobTopic.allCases.compactMap { lane[$0].deferredSheet?.acceptedAt }
        }
        .min()
    }

    /// The lanes in a fixed order, so that a simulation repeats exactly with the same seed. Loops whose order shows in
    /// no action use `lanes.values`.
    var inOrder: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    /// The time at which a lane needs a step if no event comes before.
    var nextDue: Instant {
        var next = Instant.distantFuture
        if mayHaveSettlingLanes {
            for lane in lanes.values {
                if case .settling(let until) = lane.phase { next = min(next, until) }
            }
        }
        if !lanes.isEmpty { next = min(next, commits.nextDue, pausing.nextTierReading) }
        if let releaseBy { next = min(next, releaseBy) }
        return next
    }

    // MARK: Takeover

    /// Handles assigned lanes. Each begins to read receipts, or waits for its orphan.
    mutating func assigned(_ starts: [LaneStart], into actions: inout DeliveryActions) {
        releaseBy = nil
        pausing.noteChange()
        for start in starts {
            let lane = Lane(
                start, owner: owner, window: limits.window, ledgerSheetsMax: limits.ledgerSheetsMax)
            lanes[start.lane] = lane
            if orphans.contains(where: { $0.number == start.lane }) {
                lane.phase = .awaitingOrphan
            } else {
                orderReceiptRead(of: lane, into: &actions)
            }
        }
    }

    private func orderReceiptRead(of lane: Lane, into actions: inout DeliveryActions) {
        lane.phase = .readingReceipts
        actions.receiptReads.append(DeliveryActions.ReceiptRead(lane: lane.number, from: lane.receiptsFrom))
    }

    /// Notes a receipt that was read for a lane.
    func noteReceipt(_ receipt: Receipt, lane number: Int32) { lanes[number]?.noteReceipt(receipt) }

    /// Notes a marker that was read for a lane.
    func noteMarker(_ marker: TakeoverMarker, lane number: Int32, at offset: Int64) {
        lanes[number]?.noteMarker(marker, at: offset)
    }

    /// Notes that our marker for a read of a lane's receipts is stored.
    func takeoverMarkerIsStored(lane number: Int32, at offset: Int64) {
        lanes[number]?.noteOurRecordStored(at: offset)
    }

    /// Handles the end of a read of `receipts`: all records below our marker were read. Returns the sheets that begin.
    mutating func receiptsWereRead(
        lane number: Int32, until: Int64, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        guard let lane = lanes[number] else { return [] }
        lane.noteReceiptsRead(until: until)
        pausing.noteChange()
        let nextPhase = lane.phase.afterReceipts(
            mayEarlierOwnerPush: lane.mayEarlierOwnerPush(beforeMarkerAt: until),
            settlesAt: now.advanced(byMilliseconds: limits.settleMilliseconds))
        // Nil if the lane no longer needs the read. For example, it was given up during the second read: the first one
        // is enough to make metadata for the next owner.
        guard let nextPhase else { return [] }
        lane.phase = nextPhase
        return beginPhaseAfterReceipts(of: lane, into: &actions)
    }

    /// Begins the phase that a lane has entered after a read of its receipts. Returns the sheets that begin.
    private mutating func beginPhaseAfterReceipts(
        of lane: Lane, into actions: inout DeliveryActions
    ) -> [Sheet] {
        switch lane.phase {
        case .open:
            mayHaveUnconfirmedEnds = true
            actions.events.append(.opened(lane: lane.number))
            // The sheets that waited for the earlier owner have lower offsets, so they begin first.
            return lane.takeSheetsHeldForEarlierOwner() + takeSheetsInWindow(of: lane)
        case .settling:
            mayHaveSettlingLanes = true
            actions.events.append(.settling(lane: lane.number, milliseconds: limits.settleMilliseconds))
            return takeSheetsInWindow(of: lane)
        // The lane was given up during the first read. It needed this read only to make metadata for the next owner.
        case .releasing, .orphaned: return []
        case .awaitingOrphan, .readingReceipts, .rereadingReceipts:
            preconditionFailure("after a read of receipts the lane waits for receipts again")
        }
    }

    /// Begins the next phase of lanes whose orphans are drained, and of lanes whose time for settling is over.
    mutating func advanceTakeovers(at now: Instant, into actions: inout DeliveryActions) {
        if !orphans.isEmpty { readReceiptsOfLanesWithoutOrphan(into: &actions) }
        if mayHaveSettlingLanes { rereadReceiptsOfSettledLanes(at: now, into: &actions) }
    }

    private mutating func readReceiptsOfLanesWithoutOrphan(into actions: inout DeliveryActions) {
        orphans.removeAll { $0.isDrained }
        for lane in inOrder where lane.phase == .awaitingOrphan {
            if !orphans.contains(where: { $0.number == lane.number }) {
                orderReceiptRead(of: lane, into: &actions)
            }
        }
    }

    private mutating func rereadReceiptsOfSettledLanes(at now: Instant, into actions: inout DeliveryActions) {
        mayHaveSettlingLanes = false
        for lane in inOrder {
            guard case .settling(let until) = lane.phase else { continue }
            if now < until {
                mayHaveSettlingLanes = true
                continue
            }
            lane.phase = .rereadingReceipts
            // The read starts where the first one ended, not at `receiptsEnd`: our own receipts have moved that since,
            // and the last receipts of the earlier owner can lie before them.
            actions.receiptReads.append(
                DeliveryActions.ReceiptRead(lane: lane.number, from: lane.receiptsReadUntil))
        }
    }

    // MARK: Reading

    /// Returns the offset from which a topic of a lane is read; nil if the lane is not ours.
    func position(of topic: JobTopic, lane number: Int32) -> Int64? {
        lanes[number]?[topic].tracker.position
    }

    /// Handles a gap: the topic no longer has the sheets below the offset.
    func recordsAreGone(below offset: Int64, of topic: JobTopic, lane number: Int32) {
        lanes[number]?[topic].recordsAreGone(below: offset)
    }

    /// Pauses and resumes partitions.
    mutating func pauseAndResumeReading(
        memory: inout SheetMemory, at now: Instant, into actions: inout DeliveryActions
    ) {
        let isCheckNeeded = pausing.beginCheckIfNeeded(&memory, at: now)
        guard isCheckNeeded else { return }
        for lane in inOrder { pausing.pauseOrResume(lane, memory: memory, at: now, into: &actions) }
    }
}
