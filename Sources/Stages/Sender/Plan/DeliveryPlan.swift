package import Jobs
package import Lifecycle
package import Sends

/// The plan of all deliveries of one event loop, as a value without I/O. Its inputs are sheets that were read,
/// answers of APNs, acknowledged records, assigned and revoked partitions, and the time. After each call,
/// `actions` holds the actions for the loop (`SenderLoop`), which alone calls the plan, on its thread.
///
/// Single questions are answered by the values below and by `LineDecision`. The plan calls them in order and keeps them
/// consistent. The way of a job: `arrived` (`+Sheets`), `dispatch` (`+Dispatch`, `+Runs`, `+SingleLines`, `+Intents`),
/// `accepted` or `ended` (`+Answers`), `decide` (`+Lines`), `writeOutcomes` and `stored` (`+Records`). Beside the way:
/// an app whose pushes are refused (`+Breaker`) or not answered (`+Eviction`), jobs on two sheets (`+Duplicates`), and
/// erased users (`+Erasures`).
///
/// A push leaves only with a permit. The permit returns when the outcome is stored in `receipts`. The offset
/// is committed when all outcomes below it are stored. So a crash at any point loses nothing, and it
/// duplicates at most as many pushes as there are permits.
///
/// Functions that are called for every push are mutating even if they change nothing. For a call of a non-mutating one
/// the compiler copies the whole plan, which costs as much as a small step.
package struct DeliveryPlan {
    package let limits: SenderLimits
    let seed: UInt64
    package var actions = DeliveryActions()
    /// The time of the newest event that carries one. Events whose handling does not depend on the time carry none.
    var time = CurrentTime(now: Instant(nanoseconds: 0), unixMilliseconds: 0)

    // MARK: Values that answer single questions

    /// The lanes: their takeover, the sheets that may begin, and the offsets to commit.
    var lanes: LaneOwnership
    var sheets: SheetsInHand
    /// The newest versions. Jobs with older ones are stale.
    var versions: NewestVersions
    /// The recipients whose waiting jobs are dropped, because they were erased.
    var erasures: ErasedRecipients
    /// The waiting lines, and the order in which they leave.
    var queues = DispatchQueues()
    /// The permits and subjects that the lines hold.
    var claims: LineClaims
    /// The subjects whose tokens APNs refused last. Their pushes use the suspect connections.
    var suspects = SuspectSubjects()
    /// The tokens that count as proven in this process.
    var provenTokens = ProvenTokens()
    /// The rule by which sheets make room for other apps.
    var eviction = SheetEviction()
    /// The records of outcomes, until they are stored.
    var records: OutcomeRecords

    /// - Parameters:
    ///   - seed: makes fingerprints unpredictable, so that no caller can choose two names that collide.
    ///   - owner: the number by which the plan knows its own markers and metadata. No other plan has it.
    package init(_ limits: SenderLimits, seed: UInt64, owner: UInt64 = .random(in: .min ... .max)) {
        self.limits = limits
        self.seed = seed
        lanes = LaneOwnership(limits, owner: owner)
        sheets = SheetsInHand(bytesMax: limits.sheetBytesMax)
        versions = NewestVersions(seed: seed)
        erasures = ErasedRecipients(seed: seed)
        claims = LineClaims(permitsMax: limits.permitsMax, seed: seed)
        records = OutcomeRecords(waitMilliseconds: limits.receiptMilliseconds)
    }

    // MARK: The step

    /// Does everything that is due: lets pushes leave, writes and commits. The loop calls it after one or more events.
    /// The order:
    ///
    /// 1. Takeovers of lanes go on.
    /// 2. Lines whose wait has ended return to the queues.
    /// 3. Records that waited for a lease are written, before new ones.
    /// 4. Pushes leave, as permits and room on the connections allow.
    /// 5. Lines and sheets that hold up others move to a tier. This comes after 4, so that lines that can leave are not
    ///    moved.
    /// 6. Outcomes are written, also those of this step.
    /// 7. Offsets are committed, after the outcomes below them.
    /// 8. Partitions are paused and resumed by the memory that is used now.
    /// 9. Lanes that the group asked for are given back when they are drained, or at the deadline.
    ///
    /// - Parameter availability: tells how many pushes of a sheet's app the connections take now.
    package mutating func step(at time: CurrentTime, availability: AvailabilityCheck) {
        self.time = time
        lanes.advanceTakeovers(at: time.now, into: &actions)
        retryDueLines()
        writeRecordsWaitingForLease()
        dispatch(by: availability)
        evict(by: availability)
        writeOutcomes()
        lanes.commit(at: time.now, into: &actions)
        lanes.pauseAndResumeReading(memory: &sheets.memory, at: time.now, into: &actions)
        lanes.finishRelease(at: time.now, into: &actions)
    }

    /// Returns the time of the next step if no event comes before, or nil if no timer runs.
    package mutating func nextStep() -> Instant? {
        let next = min(records.nextDue, lanes.nextDue, queues.nextDue)
        return next == .distantFuture ? nil : next
    }

    // MARK: Lanes

    /// Sets the end of the lease: until then no other process can own these lanes. A time in the past stops pushes.
    package mutating func leased(until end: Instant) { lanes.lease.set(until: end) }

    /// Handles a suspension of the process that was so long that the lanes may belong to another process. The lease
    /// ends, so that no push leaves. Offsets are committed even if they are not new, to see whether the group still
    /// accepts them.
    package mutating func suspended() { lanes.lease.suspend() }

    /// Handles lanes that the group assigned. The loop reads their receipts first (`actions.receiptReads`). It reads
    /// their jobs once `actions.resumes` names their partitions.
    package mutating func assigned(_ starts: [LaneStart]) { lanes.assigned(starts, into: &actions) }

    /// Handles a record of `receipts` that was read for `actions.receiptReads`.
    package mutating func receiptWasRead(_ receipt: Receipt, lane number: Int32) {
        lanes.noteReceipt(receipt, lane: number)
    }

    /// The marker to write into a lane's `receipts` for each of `actions.receiptReads`.
    package var takeoverMarker: TakeoverMarker { TakeoverMarker(owner: lanes.owner) }

    /// Handles the storage of the marker that we wrote for a read of `receipts`. The read ends at the marker.
    package mutating func takeoverMarkerIsStored(lane number: Int32, at offset: Int64) {
        lanes.takeoverMarkerIsStored(lane: number, at: offset)
    }

    /// Handles a marker that was read for `actions.receiptReads`.
    package mutating func takeoverMarkerWasRead(
        _ marker: TakeoverMarker, lane number: Int32, at offset: Int64
    ) {
        lanes.noteMarker(marker, lane: number, at: offset)
    }

    /// Handles the end of a read of `receipts`: all records below our marker were read.
    ///
    /// - Parameter until: the offset of our marker.
    package mutating func receiptReadEnded(lane number: Int32, until: Int64, at time: CurrentTime) {
        self.time = time
        beginSheets(lanes.receiptsWereRead(lane: number, until: until, at: time.now, into: &actions))
    }

    /// Gives up all lanes at the group's request. Pushes that are not sent yet are withdrawn, the others finish, and
    /// the next owner of each lane does the remaining jobs.
    package mutating func revoked(by deadline: Instant, at time: CurrentTime) {
        self.time = time
        for lane in lanes.beginRelease(by: deadline) { leaveSheetsToNextOwner(of: lane) }
    }

    /// Handles the loss of all lanes, because they already belong to other processes.
    package mutating func lost(at time: CurrentTime) {
        self.time = time
        for lane in lanes.lost(at: time.now) { leaveSheetsToNextOwner(of: lane) }
        lanes.removeAllLanes(at: time.now, into: &actions)
    }

    /// Handles the group's answer to the commits with this number (`DeliveryActions.commitNumber`).
    ///
    /// - Parameter isAccepted: false if the group refused them.
    package mutating func committed(_ number: Int, isAccepted: Bool, at time: CurrentTime) {
        self.time = time
        beginSheets(lanes.committed(number, isAccepted: isAccepted, at: time.now, into: &actions))
    }

    /// Handles the end of a topic's partition: all records below the offset were read.
    package mutating func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        lanes.reachedEnd(of: topic, lane: number, at: offset)
    }

    /// Handles a poll after which the consumer holds no fetched record. Then no unread record lies behind an end that
    /// was reported, so the ends are confirmed (`LaneOwnership+Ends`).
    package mutating func consumerIsDrained() { lanes.confirmEnds() }

    /// Returns the offset from which a topic of a lane is read, or nil if the lane is not ours.
    package func position(of topic: JobTopic, lane number: Int32) -> Int64? {
        lanes.position(of: topic, lane: number)
    }

    /// Handles a gap: the topic no longer has the sheets below the offset.
    package mutating func recordsAreGone(below offset: Int64, of topic: JobTopic, lane number: Int32) {
        lanes.recordsAreGone(below: offset, of: topic, lane: number)
    }

    // MARK: Versions

    /// Handles a record of the topic `superseded`, in which the planner names the newest versions of a group.
    package mutating func superseded(_ record: SupersededVersions, at time: CurrentTime) {
        self.time = time
        if let group = versions.merge(record) { dropStaleSheets(of: group) }
    }

    /// Handles the end of `superseded`: the known versions are complete.
    package mutating func supersededIsRead() { versions.markComplete() }
}

extension DeliveryPlan {
    /// Whether the lanes may have sheets of several apps, or of several environments of one app. The loop sets it
    /// once a second from the catalog. It is true while the catalog is unknown.
    package var hasSeveralApps: Bool {
        get { eviction.hasSeveralApps }
        set { eviction.hasSeveralApps = newValue }
    }

    // MARK: For the loop

    package var laneCount: Int { lanes.count }
    /// The end of the lease, by which pushes must have left.
    package var leasedUntil: Instant { lanes.lease.until }

    // MARK: For tests

    package var heldSubjectCount: Int { claims.heldSubjectCount }
    /// Number of permits and waiting starts of all apps.
    package var reservationCountOfApps: Int { queues.apps.reduce(0) { $0 + $1.reservationCount } }

    // MARK: For metrics and readiness

    /// Number of taken permits: of pushes without a stored outcome, and of starts that wait for their intent or to
    /// leave.
    package var takenPermitCount: Int { claims.permits.taken }
    /// Memory of the sheets in hand.
    package var byteCountInHand: Int { sheets.memory.byteCount }
    package var sheetCount: Int { sheets.count }
    /// Acceptance time of the oldest send that is in hand or waits in a tier, in milliseconds since 1970.
    package var oldestAcceptedAt: Int64? {
        [sheets.oldestAcceptedAt, lanes.oldestAcceptedAtInTiers].compactMap { $0 }.min()
    }
    /// Number of remembered tokens that APNs refused the last time.
    package var suspectTokenCount: Int { suspects.count }
    /// Reasons why pushes do not flow, as text.
    package var readinessProblems: [String] {
        var problems: [String] = []
        if !versions.isComplete { problems.append("superseded is being read") }
        let takeoverCount = lanes.takeoverCount
        if takeoverCount > 0 { problems.append("\(takeoverCount) lanes are being taken over") }
        return problems
    }
}
