internal import Containers
internal import Jobs
internal import Lifecycle

/// The lanes of one event loop: their takeover, and the sheets that may begin. `LaneOwnership+Commits` commits their
/// offsets, and `LaneOwnership+Release` gives them up.
///
/// **Phases of a lane** (`LanePhase`):
///
/// | phase | a lane enters it | the lane waits until |
/// |---|---|---|
/// | `awaitingOrphan` | when it is assigned, if we had it before and its pushes of that time have not all ended. The lane of that time is then an orphan. | the orphan is drained |
/// | `readingReceipts` | when it is assigned without an orphan, or when the orphan is drained | the receipts of earlier owners are read into the ledger, up to a marker that we write |
/// | `settling` | after this read, if an earlier owner may still have pushes in flight | these pushes have surely ended |
/// | `rereadingReceipts` | when the time for settling is over | the receipts that the earlier owner wrote in that time are read, up to another marker |
/// | `open` | after the second read, or after the first one if no earlier owner may have pushes in flight | it is given up |
/// | `releasing`, `orphaned` | when it is given up | its pushes have ended and its records are stored |
///
/// **Sheets** begin in the phases `settling`, `rereadingReceipts` and `open`. Before `open`, those that an earlier
/// owner may have begun are held back. A sheet begins only within a window of offsets that committed metadata names, so
/// that the next owner knows where unfinished sheets can lie. Until our first commit, that is the window of the earlier
/// owner.
///
/// **Ends of partitions.** The end of a jobs partition shows that all sheets of earlier owners were read. Once these
/// are finished, the next owner does not need the receipts about them (`EarlierOwnerSheets`).
/// - An end counts at once if the lane is `open`. Before that, an earlier owner may still write a sheet after it.
/// - The consumer does not report an end twice, so an end that comes before `open` is kept. A record that arrives after
///   it deletes it (`noteArrival`).
/// - After a lane has opened, `confirmEnds` makes the kept ends count. The plan calls it when the consumer holds no
///   more fetched records, because such a record may lie after the end.
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
    /// Whether a lane has opened since the last `confirmEnds`, so that its kept ends have to be confirmed.
    private var mustConfirmEnds = false

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
        lanes[number]?.noteStoredReceipt(at: offset)
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
        // Nil if the lane did not wait for receipts: for example, it is given up and had read them before.
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
            mustConfirmEnds = true
            actions.events.append(.opened(lane: lane.number))
            // The sheets that were held for the earlier owner have lower offsets, so they begin first.
            return lane.takeSheetsHeldForEarlierOwner() + takeSheetsInWindow(of: lane)
        case .settling:
            mayHaveSettlingLanes = true
            actions.events.append(.settling(lane: lane.number, milliseconds: limits.settleMilliseconds))
            return takeSheetsInWindow(of: lane)
        // The lane is given up. It has read the receipts only to make metadata for the next owner.
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

    // MARK: Sheets

    /// Notes that a record has arrived, and returns its lane. Returns nil if the record was read before, or if the lane
    /// is given up, because the next owner reads the record then.
    func noteArrival(at offset: Int64, of topic: JobTopic, lane number: Int32) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving, offset >= lane[topic].tracker.position else {
            return nil
        }
        lane[topic].recordArrived()
        return lane
    }

    /// Queues a sheet behind those that wait for the window. Returns the sheets that begin, perhaps this one too.
    mutating func queueForWindow(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].queueForWindow(sheet)
        sheetsAwaitingWindowCount += 1
        pausing.noteChange()
        return takeSheetsInWindow(of: sheet.lane, topic: sheet.topic)
    }

    private mutating func takeSheetsInWindow(of lane: Lane) -> [Sheet] {
        var begun: [Sheet] = []
        for topic in JobTopic.allCases { begun += takeSheetsInWindow(of: lane, topic: topic) }
        return begun
    }

    /// Takes the sheets of a topic that the window has reached. Returns those that begin, in order. The others have to
    /// wait for the earlier owner, and are held in the lane.
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

    /// Handles the end of a topic's partition: all records below the offset were read.
    func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasReadReceipts, !lane.isLeaving else { return }
        // The consumer has read past a sheet of a tier that is not due. It will read the sheet again, so this is no
        // end.
        if lane[topic].waitsForDeferredSheet { return }
        lane[topic].reachedEnd(at: offset, isSettled: lane.isSettled)
    }

    /// Makes the kept ends of open lanes count. The consumer must hold no fetched records.
    mutating func confirmEnds() {
        guard mustConfirmEnds else { return }
        mustConfirmEnds = false
        for lane in lanes.values where lane.isSettled {
            for topic in JobTopic.allCases { lane[topic].confirmEnd() }
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

    // MARK: Records that need a lease

    /// Returns whether records of a lane that need a lease may be written now. Without a lease, another process may own
    /// the lane and may have read `receipts` to their end. That process would not see the record, and would push the
    /// jobs too.
    func leaseTiming(of lane: Lane, at now: Instant) -> LeaseTiming {
        var allowedUntil = lease.until
        if case .orphaned(_, let leaseUntil) = lane.phase { allowedUntil = leaseUntil }
        if now < allowedUntil { return .now }
        return lane.isLeaving ? .never : .later
    }
}
