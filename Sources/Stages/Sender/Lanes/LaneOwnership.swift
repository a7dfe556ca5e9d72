internal import Containers
internal import Jobs
internal import Lifecycle

/// The lanes of one event loop: their takeover, and the sheets that may begin. `LaneOwnership+Commits` commits their
/// offsets, and `LaneOwnership+Release` gives them up.
///
/// A lane is owned, or it is an orphan: it belongs to another process, and pushes of ours are still in flight.
/// A lane that comes back waits until its orphan is drained. Sheets begin only within a window that the next owner
/// finds in committed metadata: in ours, or in the earlier owner's.
struct LaneOwnership {
    let limits: SenderLimits
    /// The number of this loop in markers and metadata.
    let owner: UInt64
    /// The owned lanes, by number.
    var lanes: [Int32: Lane] = [:]
    var orphans: [Lane] = []
    /// The time until which no other process can own the lanes.
    var lease = Lease()

    // MARK: State of the takeovers

    /// Whether a lane may be in the phase `settling`.
    private var isSettling = false
    /// Whether a lane has opened, so that an end of a topic that it reached before may count now.
    private var hasUnconfirmedEnds = false

    // MARK: Reading, commits and release

    var pausing = PartitionPausing()
    /// Number of sheets in all lanes that wait until the window reaches them, which a commit moves.
    var sheetsAwaitingWindowCount = 0
    var commits = OffsetCommits()
    /// Deadline for giving the partitions back; nil unless the group has asked for them.
    var releaseBy: Instant?

    init(_ limits: SenderLimits, owner: UInt64) { (self.limits, self.owner) = (limits, owner) }

    var count: Int { lanes.count }
    /// Number of lanes that may not push yet.
    var takeoversUnderWay: Int { lanes.values.count { !$0.mayPush && !$0.isLeaving } }
    /// Acceptance time of the oldest send that waits in a tier, in milliseconds since 1970.
    var oldestAcceptedAtInTiers: Int64? {
        lanes.values.lazy.flatMap { lane in
            JobTopic.allCases.compactMap { lane[$0].deferredSheet?.acceptedAt }
        }
        .min()
    }

    /// The lanes in a fixed order, so that a simulation repeats exactly with the same seed.
    var inOrder: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    /// Returns the time at which a lane needs a turn if no event comes before.
    func nextDue() -> Instant {
        var next = Instant.distantFuture
        if isSettling {
            for lane in lanes.values {
                if case .settling(let until) = lane.phase { next = min(next, until) }
            }
        }
        if !lanes.isEmpty { next = min(next, commits.nextDue, pausing.nextTierReading) }
        if let releaseBy { next = min(next, releaseBy) }
        return next
    }

    // MARK: Takeover

    /// Takes over assigned lanes. Reading of their receipts begins.
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
                readReceipts(of: lane, into: &actions)
            }
        }
    }

    private func readReceipts(of lane: Lane, into actions: inout DeliveryActions) {
        lane.phase = .readingReceipts
        actions.reads.append(DeliveryActions.ReceiptRead(lane: lane.number, from: lane.receiptsFrom))
    }

    /// Takes over a receipt that was read for a lane.
    func takeOver(_ receipt: Receipt, lane number: Int32) { lanes[number]?.takeOver(receipt) }

    /// Takes over a marker that was read for a lane.
    func takeOver(_ marker: TakeoverMarker, lane number: Int32, at offset: Int64) {
        lanes[number]?.takeOver(marker, at: offset)
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
            isUnsettled: lane.isUnsettled(endingAt: until),
            settlesAt: now.advanced(byMilliseconds: limits.settleMilliseconds))
        var begun: [Sheet] = []
        switch lane.phase {
        // The phase did not wait for receipts.
        case previousPhase: return []
        case .open:
            hasUnconfirmedEnds = true
            actions.events.append(.opened(lane: lane.number))
            begun = lane.takeSheetsAwaitingEarlierOwner()
        case .settling:
            isSettling = true
            actions.events.append(.settling(lane: number, milliseconds: limits.settleMilliseconds))
        case .awaitingOrphan, .readingReceipts, .rereadingReceipts, .releasing, .orphaned: return []
        }
        for topic in JobTopic.allCases { begun += takeSheetsInWindow(of: lane, topic: topic) }
        return begun
    }

    /// Starts the next phase of lanes whose orphans are drained, and of lanes whose settling time is over.
    mutating func advanceTakeovers(at now: Instant, into actions: inout DeliveryActions) {
        if !orphans.isEmpty { takeOverDrainedLanes(into: &actions) }
        if isSettling { rereadSettledLanes(at: now, into: &actions) }
    }

    private mutating func takeOverDrainedLanes(into actions: inout DeliveryActions) {
        orphans.removeAll { $0.isDrained }
        for lane in inOrder where lane.phase == .awaitingOrphan {
            if !orphans.contains(where: { $0.number == lane.number }) {
                readReceipts(of: lane, into: &actions)
            }
        }
    }

    private mutating func rereadSettledLanes(at now: Instant, into actions: inout DeliveryActions) {
        isSettling = false
        for lane in inOrder {
            guard case .settling(let until) = lane.phase else { continue }
            if now < until {
                isSettling = true
                continue
            }
            lane.phase = .rereadingReceipts
            // The read does not start at the end of our own receipts, because the earlier owner's last
            // receipts lie before some of ours.
            actions.reads.append(DeliveryActions.ReceiptRead(lane: lane.number, from: lane.receiptsReadUntil))
        }
    }

    // MARK: Sheets

    /// Returns the lane that takes a record. Returns nil if the record was read before, or if the lane is
    /// being given up, so that its next owner reads the record.
    func lane(_ number: Int32, taking offset: Int64, from topic: JobTopic) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving, offset >= lane[topic].tracker.position else {
            return nil
        }
        lane[topic].recordArrived()
        return lane
    }

    /// Notes a sheet of a tier that is not taken because it is not due.
    mutating func noteDeferredSheet() { pausing.noteChange() }

    /// Queues a sheet behind the others that wait for the window. Returns the sheets that begin.
    mutating func append(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].append(sheet)
        sheetsAwaitingWindowCount += 1
        pausing.noteChange()
        return takeSheetsInWindow(of: sheet.lane, topic: sheet.topic)
    }

    /// Returns the sheets of a topic that begin, in order: those within the window that do not wait for the earlier
    /// owner.
    mutating func takeSheetsInWindow(of lane: Lane, topic: JobTopic) -> [Sheet] {
        guard lane.mayPush else { return [] }
        var begun: [Sheet] = []
        while let sheet = lane[topic].takeNextInWindow() {
            sheetsAwaitingWindowCount -= 1
            pausing.noteChange()
            if lane.mustAwaitEarlierOwner(sheet) {
                lane.letAwaitEarlierOwner(sheet)
            } else {
                begun.append(sheet)
            }
        }
        return begun
    }

    /// Handles the end of a topic's partition: all records below the offset were read.
    func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasReadReceipts, !lane.isLeaving,
            !lane[topic].waitsForDeferredSheet
        else {
            return
        }
        lane[topic].reachedEnd(at: offset, isSettled: lane.isSettled)
    }

    /// Confirms the ends that were reached while an earlier owner could still write, after all fetched records were
    /// passed on. If no record followed such an end, it is still the end. The consumer does not report the same end
    /// twice.
    mutating func confirmEnds() {
        guard hasUnconfirmedEnds else { return }
        hasUnconfirmedEnds = false
        for lane in lanes.values where lane.isSettled {
            for topic in JobTopic.allCases { lane[topic].confirmEnd() }
        }
    }

    /// Returns the offset from which a topic of a lane is read; nil if the lane is not in hand.
    func position(of topic: JobTopic, lane number: Int32) -> Int64? {
        lanes[number]?[topic].tracker.position
    }

    /// Handles a gap: the topic no longer has the sheets below the offset.
    func skipped(to offset: Int64, of topic: JobTopic, lane number: Int32) {
        lanes[number]?[topic].skipped(to: offset)
    }

    /// Pauses and resumes partitions.
    mutating func pauseAndResumeReading(
        memory: inout SheetMemory, at now: Instant, into actions: inout DeliveryActions
    ) {
        pausing.pauseOrResume(lanes.values, memory: &memory, at: now, into: &actions)
    }

    // MARK: Records that need a lease

    /// Returns whether records of a lane that need a lease may be written now. After another process has owned the lane
    /// for some time, it has pushed the jobs and no longer reads `receipts` for them.
    func leaseTiming(of lane: Lane, at now: Instant) -> LeaseTiming {
        var allowedUntil = lease.until
        if case .orphaned(_, let leaseUntil) = lane.phase { allowedUntil = leaseUntil }
        if now < allowedUntil { return .now }
        return lane.isLeaving ? .never : .later
    }
}
