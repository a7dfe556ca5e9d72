internal import Containers
internal import Jobs
internal import Lifecycle

/// The lanes of one event loop: their takeover, and the sheets that may begin. `LaneOwnership+Commits` commits their
/// offsets, and `LaneOwnership+Release` gives them up.
///
/// A lane of an earlier assignment whose pushes are still in flight is an orphan. If the same number is assigned again,
/// the new lane waits until the orphan is drained. Sheets begin only within a window that committed metadata names, so
/// that the next owner knows where unfinished sheets can lie. Until our first commit, that is the window of the earlier
/// owner.
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

    /// Whether a lane may be in the phase `settling`, in which it waits for pushes of its earlier owner.
    private var mayHaveSettlingLanes = false
    /// Whether a lane has opened since the last `confirmEnds`.
    private var mustConfirmEnds = false

    // MARK: Reading, commits and release

    var pausing = PartitionPausing()
    /// Number of sheets in all lanes that the window does not include yet. A commit moves the window.
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

    /// Handles assigned lanes. The read of their receipts begins, or waits until an orphan is drained.
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
        lanes[number]?.noteStoredReceipt(at: offset)
    }

    /// Handles the end of a read of `receipts`: all records below our marker were read. Returns the sheets that begin.
    mutating func receiptsWereRead(
        lane number: Int32, until: Int64, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        guard let lane = lanes[number] else { return [] }
        lane.noteReceiptsRead(until: until)
        pausing.noteChange()
        let previousPhase = lane.phase
        lane.phase = previousPhase.afterReceipts(
            mayEarlierOwnerPush: lane.mayEarlierOwnerPush(beforeMarkerAt: until),
            settlesAt: now.advanced(byMilliseconds: limits.settleMilliseconds))
        // The lane did not wait for receipts: for example, it is given up and had read them before.
        if lane.phase == previousPhase { return [] }
        var begun: [Sheet] = []
        switch lane.phase {
        case .open:
            mustConfirmEnds = true
            actions.events.append(.opened(lane: number))
            // The sheets that were held for the earlier owner come first. Their offsets are lower than those of the
            // sheets that begin below.
            begun = lane.takeSheetsHeldForEarlierOwner()
        case .settling:
            mayHaveSettlingLanes = true
            actions.events.append(.settling(lane: number, milliseconds: limits.settleMilliseconds))
        // The lane is being given up.
        case .releasing, .orphaned: return []
        case .awaitingOrphan, .readingReceipts, .rereadingReceipts:
            preconditionFailure("after a read of receipts the lane waits for receipts again")
        }
        for topic in JobTopic.allCases { begun += takeSheetsInWindow(of: lane, topic: topic) }
        return begun
    }

    /// Starts the next phase of lanes whose orphans are drained, and of lanes whose settling time is over.
    mutating func advanceTakeovers(at now: Instant, into actions: inout DeliveryActions) {
        if !orphans.isEmpty { takeOverDrainedLanes(into: &actions) }
        if mayHaveSettlingLanes { rereadSettledLanes(at: now, into: &actions) }
    }

    private mutating func takeOverDrainedLanes(into actions: inout DeliveryActions) {
        orphans.removeAll { $0.isDrained }
        for lane in inOrder where lane.phase == .awaitingOrphan {
            if !orphans.contains(where: { $0.number == lane.number }) {
                orderReceiptRead(of: lane, into: &actions)
            }
        }
    }

    private mutating func rereadSettledLanes(at now: Instant, into actions: inout DeliveryActions) {
        mayHaveSettlingLanes = false
        for lane in inOrder {
            guard case .settling(let until) = lane.phase else { continue }
            if now < until {
                mayHaveSettlingLanes = true
                continue
            }
            lane.phase = .rereadingReceipts
            // The read starts where the first one ended. `receiptsEnd` may be higher, because we have written receipts
            // since, and the earlier owner's last receipts can lie between them.
            actions.receiptReads.append(
                DeliveryActions.ReceiptRead(lane: lane.number, from: lane.receiptsReadUntil))
        }
    }

    // MARK: Sheets

    /// Notes that a record has arrived, and returns its lane. Returns nil if the record was read before, or if the lane
    /// is being given up, so that its next owner reads the record.
    func noteArrival(at offset: Int64, of topic: JobTopic, lane number: Int32) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving, offset >= lane[topic].tracker.position else {
            return nil
        }
        lane[topic].recordArrived()
        return lane
    }

    /// Queues a sheet after the others that wait for the window. Returns the sheets that begin.
    mutating func append(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].append(sheet)
        sheetsAwaitingWindowCount += 1
        pausing.noteChange()
        return takeSheetsInWindow(of: sheet.lane, topic: sheet.topic)
    }

    /// Returns the sheets of a topic that begin, in order: those within the window. Sheets among them that have to wait
    /// for the earlier owner are held in the lane instead.
    mutating func takeSheetsInWindow(of lane: Lane, topic: JobTopic) -> [Sheet] {
        guard lane.mayPush else { return [] }
        var begun: [Sheet] = []
        while let sheet = lane[topic].takeNextInWindow() {
            sheetsAwaitingWindowCount -= 1
            pausing.noteChange()
            if lane.mustHoldForEarlierOwner(sheet) {
                lane.holdForEarlierOwner(sheet)
            } else {
                begun.append(sheet)
            }
        }
        return begun
    }

    // MARK: Ends of partitions

    // The end of a partition shows that all sheets of earlier owners were read. Once these are finished, the next owner
    // no longer needs the receipts about them (`EarlierOwnerSheets`). An end counts only when no earlier owner can
    // write any more.

    /// Handles the end of a topic's partition: all records below the offset were read.
    func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasReadReceipts, !lane.isLeaving else { return }
        // A sheet of a tier was not due and is read again later, although the consumer has read past it.
        if lane[topic].waitsForDeferredSheet { return }
        lane[topic].reachedEnd(at: offset, isSettled: lane.isSettled)
    }

    /// Makes the ends count that were reached while an earlier owner could still write. The consumer does not report an
    /// end a second time. But a record after the end clears it (`recordArrived`). So once all fetched records were passed
    /// on, an end that is left is still the end.
    mutating func confirmEnds() {
        guard mustConfirmEnds else { return }
        mustConfirmEnds = false
        for lane in lanes.values where lane.isSettled {
            for topic in JobTopic.allCases { lane[topic].confirmEnd() }
        }
    }

    // MARK: Reading

    /// Returns the offset from which a topic of a lane is read; nil if the lane is not in hand.
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

    // MARK: Records that need a lease

    /// Returns whether records of a lane that need a lease may be written now. Without a lease, another process may own
    /// the lane and may have read `receipts` to their end. It would not see the record, and would also push the jobs.
    func leaseTiming(of lane: Lane, at now: Instant) -> LeaseTiming {
        var allowedUntil = lease.until
        if case .orphaned(_, let leaseUntil) = lane.phase { allowedUntil = leaseUntil }
        if now < allowedUntil { return .now }
        return lane.isLeaving ? .never : .later
    }
}
