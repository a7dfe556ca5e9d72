internal import Containers
internal import Jobs
internal import Lifecycle

/// The lanes of this process: their takeover, their offsets, and the way in which they are given up.
///
/// A lane is owned, or it is an orphan: it belongs to another process, and pushes of ours are still in flight.
/// A lane that comes back waits until its orphan is drained. Sheets begin only within a window that the next owner
/// finds in committed metadata: in ours, or in the earlier owner's.
struct LaneOwnership {
    private let limits: SenderLimits
    private var lanes: [Int32: Lane] = [:]
    private var orphans: [Lane] = []
    var lease = Lease()
    private var commits = OffsetCommits()
    private var pausing = PartitionPausing()
    /// Deadline for giving the partitions back; nil unless the group has asked for them.
    private var releaseBy: Instant?
    /// Number of sheets in all lanes that were read and wait for a commit before they may be begun.
    private var sheetsAwaitingCommit = 0
    /// Whether a lane may be waiting for its earlier owner.
    private var isSettling = false
    /// Whether a lane has opened, so that an end of a topic that it reached before may count now.
    private var hasUnconfirmedEnds = false

    init(_ limits: SenderLimits) { self.limits = limits }

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
    private var inOrder: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    /// Returns the time at which something is due if no event comes before.
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
            let lane = Lane(start, window: limits.window, ledgerSheetsMax: limits.ledgerSheetsMax)
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

    func takeOver(_ receipt: Receipt, lane number: Int32) { lanes[number]?.takeOver(receipt) }

    /// Handles the end of a read of `receipts`: all records below the end at the time of the request were read.
    /// Returns the sheets that begin.
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

    /// Starts the next phase of lanes whose settling time is over, and of lanes whose orphans are drained.
    mutating func advanceTakeovers(at now: Instant, into actions: inout DeliveryActions) {
        if !orphans.isEmpty {
            orphans.removeAll { $0.isDrained }
            for lane in inOrder where lane.phase == .awaitingOrphan {
                if !orphans.contains(where: { $0.number == lane.number }) {
                    readReceipts(of: lane, into: &actions)
                }
            }
        }
        guard isSettling else { return }
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

    /// Queues a sheet behind the others that wait for a commit. Returns the sheets that begin.
    mutating func append(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].append(sheet)
        sheetsAwaitingCommit += 1
        pausing.noteChange()
        return takeSheetsInWindow(of: sheet.lane, topic: sheet.topic)
    }

    /// Returns the sheets of a topic that begin, in order: those within the window that do not wait for the earlier
    /// owner.
    private mutating func takeSheetsInWindow(of lane: Lane, topic: JobTopic) -> [Sheet] {
        guard lane.mayPush else { return [] }
        var begun: [Sheet] = []
        while let sheet = lane[topic].takeNextInWindow() {
            sheetsAwaitingCommit -= 1
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

    func position(of topic: JobTopic, lane number: Int32) -> Int64? {
        lanes[number]?[topic].tracker.position
    }

    func skipped(to offset: Int64, of topic: JobTopic, lane number: Int32) {
        lanes[number]?[topic].skipped(to: offset)
    }

    /// Pauses and resumes partitions.
    mutating func pauseAndResumeReading(
        memory: inout SheetMemory, at now: Instant, into actions: inout DeliveryActions
    ) {
        pausing.pauseOrResume(lanes.values, memory: &memory, at: now, into: &actions)
    }

    // MARK: Transfers

    /// Returns when jobs of a lane may be transferred. After another process has owned the lane for some
    /// time, it has pushed the jobs and no longer reads `receipts` for them.
    func transferTiming(of lane: Lane, at now: Instant) -> TransferTiming {
        var allowedUntil = lease.until
        if case .orphaned(_, let transfersUntil) = lane.phase { allowedUntil = transfersUntil }
        if now < allowedUntil { return .now }
        return lane.isLeaving ? .never : .later
    }

    // MARK: Giving up

    /// Begins to give up all lanes. Returns them, so that their unsent lines are left to the next owner.
    mutating func beginRelease(by deadline: Instant) -> [Lane] {
        releaseBy = deadline
        let leaving = inOrder
        for lane in leaving { lane.phase = .releasing(lane.phase.progress) }
        forgetWaitingSheets(of: leaving)
        return leaving
    }

    /// Handles the loss of all lanes to other processes. Returns them. A call of `removeAllLanes` has to follow.
    mutating func lost(at now: Instant) -> [Lane] {
        let leaving = inOrder
        orphan(leaving, at: now)
        forgetWaitingSheets(of: leaving)
        return leaving
    }

    private func orphan(_ lanes: [Lane], at now: Instant) {
        // The next owner waits for the whole settling time before it reads our last receipts. A process that was
        // suspended does not know since when the lanes belong to another process.
        let milliseconds = lease.needsConfirmation ? 0 : limits.settleMilliseconds / 2
        let transfersUntil = now.advanced(byMilliseconds: milliseconds)
        for lane in lanes { lane.phase = .orphaned(lane.phase.progress, transfersUntil: transfersUntil) }
    }

    /// Forgets the sheets that were not begun.
    private mutating func forgetWaitingSheets(of lanes: [Lane]) {
        for lane in lanes {
            pausing.noteChange()
            _ = lane.takeSheetsAwaitingEarlierOwner()
            for topic in JobTopic.allCases {
                sheetsAwaitingCommit -= lane[topic].forgetSheetsAwaitingWindow()
            }
        }
    }

    /// Removes all lanes, so that the group may assign them to other processes. Lanes with pushes in flight become
    /// orphans.
    mutating func removeAllLanes(at now: Instant, into actions: inout DeliveryActions) {
        let undrained = inOrder.filter { !$0.isDrained }
        orphan(undrained, at: now)
        orphans += undrained
        lanes.removeAll()
        commits.forget()
        lease.forgetConfirmation()
        releaseBy = nil
        actions.isReleased = true
    }

    /// Commits the last offsets when every lane is drained or the deadline has passed.
    mutating func finishRelease(at now: Instant, into actions: inout DeliveryActions) {
        guard let releaseBy, !commits.isLastAsked else { return }
        guard lanes.values.allSatisfy(\.isDrained) || now >= releaseBy else { return }
        var offsets: [DeliveryActions.OffsetCommit] = []
        for lane in inOrder {
            if !lane.isDrained { actions.events.append(.drainedLate(lane: lane.number)) }
            // Before the receipts are read nothing is begun, and the earlier owner's metadata stays valid.
            guard lane.hasReadReceipts else { continue }
            for topic in JobTopic.allCases {
                offsets.append(offsetCommit(of: lane, topic: topic, hasNothingInFlight: lane.isDrained))
            }
        }
        commits.ask(for: offsets, isLast: true, into: &actions)
    }

    // MARK: Offsets

    /// Commits advanced offsets at intervals, and sooner if sheets wait for the commit.
    mutating func commit(at now: Instant, into actions: inout DeliveryActions) {
        guard commits.isIdle, releaseBy == nil, !lanes.isEmpty else { return }
        // To learn whether the lanes are still ours, offsets are committed even if they have not changed.
        let confirms = lease.asksForConfirmation(at: now, againInMilliseconds: limits.commitMilliseconds)
        let isDue = now >= commits.nextDue || confirms
        if isDue {
            commits.postpone(until: now.advanced(byMilliseconds: limits.commitMilliseconds))
        } else if sheetsAwaitingCommit == 0 {
            return
        }
        var offsets: [DeliveryActions.OffsetCommit] = []
        for lane in lanes.values {
            let confirmsLane = confirms && lane.hasReadReceipts
            let needsFirstMetadata = lane.needsFirstMetadata
            for topic in JobTopic.allCases {
                let isFirst = needsFirstMetadata && lane[topic].needsOwnMetadata
                if confirmsLane || isFirst || mustCommit(topic, of: lane, isDue: isDue) {
                    offsets.append(offsetCommit(of: lane, topic: topic, hasNothingInFlight: false))
                }
            }
        }
        commits.ask(for: offsets, isLast: false, into: &actions)
    }

    /// Whether the offset has advanced, sheets wait for its metadata, or its metadata is old.
    private func mustCommit(_ topic: JobTopic, of lane: Lane, isDue: Bool) -> Bool {
        let hasAdvanced = lane[topic].tracker.offsetToCommit > lane[topic].committedOffset
        if hasAdvanced, isDue || !lane[topic].sheetsAwaitingWindow.isEmpty { return true }
        if lane.waitsForMetadata(of: topic, window: limits.window) { return true }
        return isDue && isMetadataOld(of: lane, topic: topic)
    }

    /// Whether the next owner would read many more receipts than needed. This also covers a topic without
    /// traffic, which has no other reason to commit.
    private func isMetadataOld(of lane: Lane, topic: JobTopic) -> Bool {
        let oldestNeeded = lane[topic].committedReceiptsFrom + limits.receiptsBehindMax
        guard lane.phase == .open, lane.receiptsEnd > oldestNeeded else { return false }
        let metadata = lane.metadata(of: topic, window: limits.window, hasNothingInFlight: false)
        return metadata.receiptsFrom > oldestNeeded
    }

    private func offsetCommit(
        of lane: Lane, topic: JobTopic, hasNothingInFlight: Bool
    ) -> DeliveryActions.OffsetCommit {
        DeliveryActions.OffsetCommit(
            lane: lane.number, topic: topic, offset: lane[topic].tracker.offsetToCommit,
            metadata: lane.metadata(of: topic, window: limits.window, hasNothingInFlight: hasNothingInFlight))
    }

    /// Handles the result of the commits with this number. Returns the sheets that begin.
    mutating func committed(
        _ number: Int, isDone: Bool, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        switch commits.answered(number, isDone: isDone) {
        case .outdated, .refused: return []
        case .lastIsDone:
            removeAllLanes(at: now, into: &actions)
            return []
        case .done(let offsets):
            var begun: [Sheet] = []
            for commit in offsets {
                guard let lane = lanes[commit.lane] else { continue }
                lane[commit.topic].committed(commit.offset, with: commit.metadata)
                begun += takeSheetsInWindow(of: lane, topic: commit.topic)
            }
            return begun
        }
    }
}
