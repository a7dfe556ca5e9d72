internal import Containers
internal import Lifecycle
internal import LiveActivity

/// The partition of one jobs topic in a lane: its offsets, and the sheets that were read and not begun.
struct LanePartition {
    private(set) var tracker: OffsetTracker
    /// The group's committed offset, as far as this process knows.
    private(set) var committed: Int64
    /// Sheets below this offset may be begun, because a successor will check them.
    private(set) var grantedBelow: Int64
    /// An earlier owner may have begun sheets below this offset.
    let touchedBelow: Int64
    /// The earlier owner's commit metadata, if it left some.
    let earlierMetadata: CommitMetadata?
    /// Receipts of an earlier owner for its unfinished sheets lie at or above this offset.
    private(set) var receiptsFrom: Int64
    /// All sheets below this offset were read, and no sheet of an earlier owner lies at or above it. It is
    /// nil until the topic's end was reached.
    private(set) var caughtUpAt: Int64?
    /// Our own sheets in this topic lie at or above this offset, and all sheets of earlier owners below. It
    /// is nil until one of ours is stored. It is needed because the end of a tier may never be reached: its
    /// last sheets are not due.
    private(set) var ownFrom: Int64?
    /// Number of sheets that we wrote to it and whose offsets are unknown.
    private(set) var sheetsWithoutOffset = 0
    /// The end that was reached last while records of an earlier owner may still come.
    private(set) var unconfirmedEnd: Int64?
    /// Sheets that we wrote to it and that may be stored twice.
    private var duplicateHolds = DuplicateJobHolds()
    /// Offset of `receipts` in the committed metadata. A successor reads from there.
    private(set) var committedReceiptsFrom: Int64
    /// Sheets that were read and are not granted yet.
    private(set) var ahead = FIFOQueue<Sheet>()
    private(set) var isPaused = true
    /// The choice of sheets to take from a tier; nil if the topic is not a tier.
    private var tierReading: TierReading?

    init(_ start: LanePartitionStart, of topic: JobTopic, window: Int64) {
        tierReading = topic.tier.map { TierReading($0) }
        tracker = OffsetTracker(from: start.base)
        committed = start.base
        earlierMetadata = start.metadata
        let touched = start.metadata?.window ?? window
        touchedBelow = start.base + touched
        // Until our own metadata is committed, a successor uses the earlier owner's. If that is missing, or
        // says that nothing is in flight, the successor would not wait for our pushes.
        grantedBelow = start.base + (Self.announcesPushes(start.metadata) ? min(touched, window) : 0)
        receiptsFrom = start.metadata?.receiptsFrom ?? 0
        committedReceiptsFrom = receiptsFrom
    }

    /// Whether metadata tells a successor that pushes may be in flight.
    private static func announcesPushes(_ metadata: CommitMetadata?) -> Bool {
        guard let metadata else { return false }
        return metadata.endedAt == nil
    }

    /// Whether nothing may be begun before our own metadata is committed.
    var needsOwnMetadata: Bool { grantedBelow == committed && !Self.announcesPushes(earlierMetadata) }

    /// Whether sheets that an earlier owner began or wrote to a tier may be unfinished. This includes sheets
    /// that are unread or held back.
    func owesToEarlierOwner(topic: JobTopic) -> Bool {
        if let ownFrom, tracker.base >= ownFrom { return false }
        if let caughtUpAt, tracker.unfinished == 0 || tracker.base >= caughtUpAt { return false }
        return topic.tier != nil || tracker.base < touchedBelow
    }

    // MARK: Sheets

    /// Returns whether a sheet is taken. After a sheet that is not taken, the partition waits.
    mutating func takes(_ record: SheetRecord, at time: CurrentTime) -> Bool {
        tierReading?.takes(record, at: time) ?? true
    }

    /// The first sheet that is not due. The partition continues when it is due.
    var deferred: TierReading.DeferredSheet? { tierReading?.deferred }
    var isWaiting: Bool { deferred != nil }

    /// Handles a record that arrived: the end that was seen before is not the end.
    mutating func recordArrived() { unconfirmedEnd = nil }

    /// Notes that a sheet was begun. Returns false for a sheet that was read before.
    mutating func began(_ offset: Int64) -> Bool { tracker.began(offset) }

    mutating func append(_ sheet: Sheet) { ahead.append(sheet) }

    /// Returns the next sheet that may be begun; nil if no sheet may.
    mutating func takeGranted() -> Sheet? {
        guard let sheet = ahead.first, sheet.offset < grantedBelow else { return nil }
        ahead.removeFirst()
        return sheet
    }

    /// Forgets the sheets that were not begun. Returns their number.
    mutating func forgetAhead() -> Int {
        defer { ahead = FIFOQueue() }
        return ahead.count
    }

    mutating func finished(_ offset: Int64) { tracker.finished(offset) }

    /// Notes that `receipts` have a record about a sheet at or above an offset.
    mutating func wroteReceipt(about offset: Int64, from receipts: Int64) {
        tracker.wrote(offset, receiptsFrom: receipts)
    }

    // MARK: Ends

    /// Notes that everything below an offset is read or gone.
    mutating func skipped(to offset: Int64) { tracker.reached(offset) }

    /// Handles the end of the partition.
    ///
    /// - Parameter isSettled: whether no record of an earlier owner can follow.
    mutating func reachedEnd(at offset: Int64, isSettled: Bool) {
        tracker.reached(offset)
        if isSettled {
            caughtUpAt = caughtUpAt ?? offset
        } else {
            unconfirmedEnd = offset
        }
    }

    mutating func confirmEnd() { caughtUpAt = caughtUpAt ?? unconfirmedEnd }

    // MARK: Tiers

    /// Notes a sheet that we wrote to it after all sheets of earlier owners.
    ///
    /// - Parameter unknownBefore: `sheetsWithoutOffset` when the write was ordered.
    mutating func wrote(at offset: Int64, unknownBefore: Int) {
        if unknownBefore == sheetsWithoutOffset { ownFrom = ownFrom ?? offset }
    }

    /// Remembers a sheet of ours that may be stored twice, or whose jobs may have another record.
    mutating func holdDuplicate(at offset: Int64?, receiptsFrom from: Int64) {
        if let offset { return duplicateHolds.add(offset, receiptsFrom: from) }
        // The offset is unknown. The record lies before the next end that is reached, and before every record
        // ordered from now on.
        caughtUpAt = nil
        ownFrom = nil
        sheetsWithoutOffset += 1
        receiptsFrom = min(receiptsFrom, from)
    }

    // MARK: Reading

    mutating func pause() { isPaused = true }

    /// Resumes reading. Returns the offset to read from; nil to continue at the pause.
    mutating func resume() -> Int64? {
        isPaused = false
        let from = isWaiting ? tracker.position : nil
        tierReading?.resume()
        return from
    }

    // MARK: Commits

    mutating func committed(_ offset: Int64, with metadata: CommitMetadata) {
        committed = offset
        committedReceiptsFrom = metadata.receiptsFrom
        grantedBelow = offset + metadata.window
    }

    /// Returns the offset of `receipts` from which a successor must read.
    ///
    /// - Parameter end: the end of our own receipts.
    mutating func receiptsForSuccessor(of topic: JobTopic, end: Int64) -> Int64 {
        let heldFrom = duplicateHolds.receiptsFrom(above: tracker.base)
        var from = tracker.receiptsFrom(otherwise: end)
        if owesToEarlierOwner(topic: topic) { from = min(from, receiptsFrom) }
        if let heldFrom { from = min(from, heldFrom) }
        return from
    }
}
