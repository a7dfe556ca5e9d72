internal import Containers
internal import Lifecycle
internal import LiveActivity

/// The lanes of this process: their takeover, their offsets and their return.
///
/// A lane is owned, or it is an orphan: it belongs to another process, and pushes of ours are still in flight.
/// A lane that comes back waits until its orphan is drained. Sheets begin only within a window that a successor
/// finds in committed metadata: in ours, or in the earlier owner's.
struct LaneOwnership {
    private let limits: SenderLimits
    private var lanes: [Int32: Lane] = [:]
    private var orphans: [Lane] = []
    var lease = Lease()
    private var commits = OffsetCommits()
    private var steering = PartitionSteering()
    /// Deadline for giving the partitions back; nil while no return is wanted.
    private var releaseBy: Instant?
    /// Number of sheets in all lanes that were read and wait for a commit before they may be begun.
    private var sheetsAhead = 0
    /// Whether a lane waits for its earlier owner.
    private var isSettling = false
    /// Whether a lane has opened, so that an end of a topic that it reached before may count now.
    private var hasUnconfirmedEnds = false

    init(_ limits: SenderLimits) { self.limits = limits }

    var count: Int { lanes.count }
    /// Number of lanes that may not push yet.
    var takeoversUnderWay: Int { lanes.values.count { !$0.mayPush && !$0.isLeaving } }
    /// Acceptance time of the oldest send that waits in a tier, in milliseconds since 1970.
    var oldestAcceptedAtInTiers: Int64? {
        lanes.values.lazy.flatMap { lane in JobTopic.allCases.compactMap { lane[$0].deferred?.acceptedAt } }
            .min()
    }

    /// The lanes in a fixed order, so that a simulation repeats exactly with the same seed.
    private var inOrder: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    /// Returns the time of the next change if no event comes before.
    func nextDue() -> Instant {
        var next = Instant.distantFuture
        if isSettling {
            for lane in lanes.values {
                if case .settling(let until) = lane.phase { next = min(next, until) }
            }
        }
        if !lanes.isEmpty { next = min(next, commits.nextDue, steering.nextTier) }
        if let releaseBy { next = min(next, releaseBy) }
        return next
    }

    // MARK: Takeover

    /// Takes over assigned lanes. Reading of their receipts begins.
    mutating func assigned(_ starts: [LaneStart], into actions: inout DeliveryActions) {
        releaseBy = nil
        steering.change()
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

    func found(_ receipt: Receipt, lane number: Int32) { lanes[number]?.found(receipt) }

    /// Handles the end of `receipts`: everything up to the end at the time of the request was read. Returns
    /// the sheets that begin.
    mutating func foundAll(
        lane number: Int32, end: Int64, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        guard let lane = lanes[number] else { return [] }
        lane.readReceipts(until: end)
        steering.change()
        let before = lane.phase
        lane.phase = before.afterReceipts(
            isUnsettled: lane.isUnsettled(endingAt: end),
            settlesAt: now.advanced(byMilliseconds: limits.settleMilliseconds))
        var begun: [Sheet] = []
        switch lane.phase {
        case before: return []
        case .open:
            hasUnconfirmedEnds = true
            actions.events.append(.opened(lane: lane.number))
            begun = lane.takeHeld()
        case .settling:
            isSettling = true
            actions.events.append(.settling(lane: number, milliseconds: limits.settleMilliseconds))
        case .awaitingOrphan, .readingReceipts, .rereadingReceipts, .releasing, .orphaned: return []
        }
        for topic in JobTopic.allCases { begun += takeGranted(of: lane, topic: topic) }
        return begun
    }

    /// Starts the next phase of lanes whose settling time is over, and of lanes whose orphans are drained.
    mutating func settle(at now: Instant, into actions: inout DeliveryActions) {
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
            actions.reads.append(DeliveryActions.ReceiptRead(lane: lane.number, from: lane.readUntil))
        }
    }

    // MARK: Sheets

    /// Returns the lane that takes a record. Returns nil if the record was read before, or if the lane is
    /// given up and its next owner reads the record.
    func lane(_ number: Int32, taking offset: Int64, from topic: JobTopic) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving, offset >= lane[topic].tracker.position else {
            return nil
        }
        lane[topic].recordArrived()
        return lane
    }

    /// Notes a sheet of a tier that is not taken because it is not due.
    mutating func sheetIsNotDue() { steering.change() }

    /// Queues a sheet behind the others that wait for the window. Returns the sheets that begin.
    mutating func append(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].append(sheet)
        sheetsAhead += 1
        steering.change()
        return takeGranted(of: sheet.lane, topic: sheet.topic)
    }

    /// Returns the sheets of a topic that begin, in order. Sheets that wait for the earlier owner are held.
    private mutating func takeGranted(of lane: Lane, topic: JobTopic) -> [Sheet] {
        guard lane.mayPush else { return [] }
        var begun: [Sheet] = []
        while let sheet = lane[topic].takeGranted() {
            sheetsAhead -= 1
            steering.change()
            if lane.isHeld(sheet) { lane.hold(sheet) } else { begun.append(sheet) }
        }
        return begun
    }

    /// Handles the end of a topic's partition: everything below the offset was read.
    func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasReadReceipts, !lane.isLeaving, !lane[topic].isWaiting else {
            return
        }
        lane[topic].reachedEnd(at: offset, isSettled: lane.isSettled)
    }

    /// Confirms the ends that were reached while an earlier owner settled. If no record followed such an end
    /// in everything that was fetched, it is still the end. The consumer does not report the same end twice.
    mutating func readAllFetched() {
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
    mutating func steer(memory: inout SheetMemory, at now: Instant, into actions: inout DeliveryActions) {
        steering.steer(lanes.values, memory: &memory, at: now, into: &actions)
    }

    // MARK: Transfers

    /// Returns when jobs of a lane may be transferred. After another process has owned the lane for some
    /// time, it has pushed the jobs and no longer reads `receipts` for them.
    func transferTiming(of lane: Lane, at now: Instant) -> TransferTiming {
        var until = lease.until
        if case .orphaned(_, let transfersUntil) = lane.phase { until = transfersUntil }
        if now < until { return .now }
        return lane.isLeaving ? .never : .later
    }

    // MARK: Giving up

    /// Begins to give up all lanes. Returns them, so that their unsent lines are left to the next owner.
    mutating func beginRelease(by deadline: Instant) -> [Lane] {
        releaseBy = deadline
        let leaving = inOrder
        for lane in leaving { lane.phase = .releasing(lane.phase.progress) }
        leave(leaving)
        return leaving
    }

    /// Handles the loss of all lanes to other processes. Returns them. `letGo` has to follow.
    mutating func lost(at now: Instant) -> [Lane] {
        let leaving = inOrder
        orphan(leaving, at: now)
        leave(leaving)
        return leaving
    }

    private func orphan(_ lanes: [Lane], at now: Instant) {
        // A process that was suspended does not know since when the lanes belong to another process.
        let milliseconds = lease.needsConfirmation ? 0 : limits.settleMilliseconds / 2
        let until = now.advanced(byMilliseconds: milliseconds)
        for lane in lanes { lane.phase = .orphaned(lane.phase.progress, transfersUntil: until) }
    }

    private mutating func leave(_ lanes: [Lane]) {
        for lane in lanes {
            steering.change()
            _ = lane.takeHeld()
            for topic in JobTopic.allCases { sheetsAhead -= lane[topic].forgetAhead() }
        }
    }

    /// Lets go of all lanes. Lanes with pushes in flight become orphans.
    mutating func letGo(at now: Instant, into actions: inout DeliveryActions) {
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
    mutating func release(at now: Instant, into actions: inout DeliveryActions) {
        guard let releaseBy, !commits.isLastAsked else { return }
        guard lanes.values.allSatisfy(\.isDrained) || now >= releaseBy else { return }
        var offsets: [DeliveryActions.OffsetCommit] = []
        for lane in inOrder {
            if !lane.isDrained { actions.events.append(.drainedLate(lane: lane.number)) }
            // If nothing was begun, the earlier owner's metadata stays valid.
            guard lane.hasReadReceipts else { continue }
            for topic in JobTopic.allCases {
                offsets.append(offset(of: lane, topic: topic, isEnding: lane.isDrained))
            }
        }
        commits.ask(for: offsets, isLast: true, into: &actions)
    }

    // MARK: Offsets

    /// Commits advanced offsets at intervals, and sooner if sheets wait for the commit.
    mutating func commit(at now: Instant, into actions: inout DeliveryActions) {
        guard commits.isIdle, releaseBy == nil, !lanes.isEmpty else { return }
        // A confirmation also commits offsets that have not changed, to learn whether the lanes are still
        // ours.
        let confirms = lease.asksForConfirmation(at: now, againInMilliseconds: limits.commitMilliseconds)
        let isDue = now >= commits.nextDue || confirms
        if isDue {
            commits.postpone(until: now.advanced(byMilliseconds: limits.commitMilliseconds))
        } else if sheetsAhead == 0 {
            return
        }
        var offsets: [DeliveryActions.OffsetCommit] = []
        for lane in lanes.values {
            let isFirst = lane.needsFirstMetadata
            for topic in JobTopic.allCases
            where hasNews(of: lane, topic: topic, isDue: isDue) || confirms && lane.hasReadReceipts
                || lane.waitsForMetadata(of: topic, window: limits.window)
                || isFirst && lane[topic].needsOwnMetadata || isDue && isMetadataOld(of: lane, topic: topic)
            {
                offsets.append(offset(of: lane, topic: topic, isEnding: false))
            }
        }
        commits.ask(for: offsets, isLast: false, into: &actions)
    }

    private func hasNews(of lane: Lane, topic: JobTopic, isDue: Bool) -> Bool {
        lane[topic].tracker.base > lane[topic].committed && (isDue || !lane[topic].ahead.isEmpty)
    }

    /// Whether a successor would read many more receipts than needed. This also covers a topic without
    /// traffic, which has no other reason to commit.
    private func isMetadataOld(of lane: Lane, topic: JobTopic) -> Bool {
        let old = lane[topic].committedReceiptsFrom + limits.receiptsBehindMax
        guard lane.phase == .open, lane.receiptsEnd > old else { return false }
        return lane.metadata(of: topic, window: limits.window, isEnding: false).receiptsFrom > old
    }

    private func offset(
        of lane: Lane, topic: JobTopic, isEnding: Bool
    ) -> DeliveryActions.OffsetCommit {
        DeliveryActions.OffsetCommit(
            lane: lane.number, topic: topic, offset: lane[topic].tracker.base,
            metadata: lane.metadata(of: topic, window: limits.window, isEnding: isEnding))
    }

    /// Handles the result of the commits with this number. Returns the sheets that begin.
    mutating func committed(
        _ number: Int, isDone: Bool, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        switch commits.answered(number, isDone: isDone) {
        case .outdated, .refused: return []
        case .lastIsDone:
            letGo(at: now, into: &actions)
            return []
        case .done(let offsets):
            var begun: [Sheet] = []
            for commit in offsets {
                guard let lane = lanes[commit.lane] else { continue }
                lane[commit.topic].committed(commit.offset, with: commit.metadata)
                begun += takeGranted(of: lane, topic: commit.topic)
            }
            return begun
        }
    }
}
