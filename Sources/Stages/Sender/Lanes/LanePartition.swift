internal import Containers
internal import Lifecycle

/// The partition of one jobs topic in a lane: its offsets, and the sheets that were read and not begun. To begin a
/// sheet means that its lines may be pushed.
///
/// Sheets are begun only within a window: the offsets from the committed one up to the end that committed metadata
/// names. The next owner compares the sheets of the window with the receipts, because they may have been begun.
///
/// All offsets are of this partition, except those with `receipts` in their names.
struct LanePartition {
    // MARK: Reading state

    private(set) var tracker: OffsetTracker
    private(set) var isPaused = true
    /// The choice of the sheets that are due; nil if the topic is not a tier.
    private var tierReading: TierReading?

    // MARK: Committed offset and window

    /// The group's committed offset, as far as this process knows.
    private(set) var committedOffset: Int64
    /// The offset of `receipts` that the committed metadata names. The next owner reads from there.
    private(set) var committedReceiptsFrom: Int64
    /// Sheets below this offset may be begun.
    private(set) var windowEnd: Int64
    /// Sheets that were read and wait until the window reaches them.
    private(set) var sheetsAwaitingWindow = FIFOQueue<Sheet>()

    // MARK: Earlier owner

    /// The earlier owner's commit metadata, if it left some.
    let earlierMetadata: CommitMetadata?
    private(set) var earlierSheets: EarlierOwnerSheets

    // MARK: Sheets that we wrote to a tier

    /// Sheets that we wrote to this tier, whose offsets are known, and whose jobs may have duplicates.
    private var duplicateHolds = DuplicateJobHolds()

    init(_ start: LanePartitionStart, of topic: JobTopic, window: Int64) {
        tierReading = topic.tier.map { TierReading($0) }
        tracker = OffsetTracker(from: start.base)
        committedOffset = start.base
        earlierMetadata = start.metadata
        committedReceiptsFrom = start.metadata?.receiptsFrom ?? 0
        let earlierWindow = start.metadata?.window ?? window
        earlierSheets = EarlierOwnerSheets(
            below: start.base + earlierWindow, receiptsFrom: committedReceiptsFrom, isTier: topic.tier != nil)
        // Until our own metadata is committed, the next owner uses the earlier owner's. If that is missing, or
        // says that nothing is in flight, the next owner would not wait for our pushes.
        let firstWindow = Self.announcesPushes(start.metadata) ? min(earlierWindow, window) : 0
        windowEnd = start.base + firstWindow
    }

    /// Whether metadata tells the next owner that pushes may be in flight.
    private static func announcesPushes(_ metadata: CommitMetadata?) -> Bool {
        guard let metadata else { return false }
        return metadata.endedAt == nil
    }

    /// Whether nothing may be begun before our own metadata is committed.
    var needsOwnMetadata: Bool { windowEnd == committedOffset && !Self.announcesPushes(earlierMetadata) }

    /// End of the window of the earlier owners. They may have begun sheets below this offset.
    var earlierWindowEnd: Int64 { earlierSheets.windowEnd }

    // MARK: Sheets

    /// Returns whether a sheet is taken. A sheet of a tier is taken if it is due. Otherwise it is deferred, and the
    /// partition waits until it is due.
    mutating func takeOrDefer(_ record: SheetRecord, at time: CurrentTime) -> Bool {
        tierReading?.takeOrDefer(record, at: time) ?? true
    }

    /// The sheet that is not due and for which the partition waits.
    var deferredSheet: TierReading.DeferredSheet? { tierReading?.deferredSheet }
    var waitsForDeferredSheet: Bool { deferredSheet != nil }

    /// Handles a record that arrived. It lies after an unconfirmed end, which is deleted.
    mutating func recordArrived() { earlierSheets.recordArrived() }

    /// Notes a sheet that was read for the first time.
    mutating func markRead(_ offset: Int64) { tracker.markRead(offset) }

    /// Queues a sheet until the window reaches it.
    mutating func queueForWindow(_ sheet: Sheet) { sheetsAwaitingWindow.append(sheet) }

    /// Returns the next sheet if the window has reached it.
    mutating func takeNextInWindow() -> Sheet? {
        guard let sheet = sheetsAwaitingWindow.first, sheet.offset < windowEnd else { return nil }
        sheetsAwaitingWindow.removeFirst()
        return sheet
    }

    /// Forgets the sheets that were not begun. Returns their number.
    mutating func forgetSheetsAwaitingWindow() -> Int {
        let count = sheetsAwaitingWindow.count
        sheetsAwaitingWindow = FIFOQueue()
        return count
    }

    /// Notes that all lines of a sheet are done.
    mutating func finish(_ offset: Int64) { tracker.finish(offset) }

    /// Notes that the records about a sheet lie at or above an offset of `receipts`.
    mutating func noteReceipts(about offset: Int64, from receiptsOffset: Int64) {
        tracker.noteReceipts(about: offset, from: receiptsOffset)
    }

    // MARK: Ends

    /// Notes that the topic no longer has the sheets below an offset.
    mutating func recordsAreGone(below offset: Int64) { tracker.advance(to: offset) }

    /// Handles the end of the partition: all records below the offset were read.
    ///
    /// - Parameter isConfirmed: whether no earlier owner can write a sheet after it (`LaneOwnership+Ends`).
    mutating func reachedEnd(at offset: Int64, isConfirmed: Bool) {
        tracker.advance(to: offset)
        earlierSheets.reachedEnd(at: offset, isConfirmed: isConfirmed)
    }

    /// Confirms the unconfirmed end, if there is one.
    mutating func confirmEnd() { earlierSheets.confirmEnd() }

    // MARK: Tiers

    /// Notes a sheet that we wrote to this tier when no earlier owner could write there any more.
    ///
    /// - Parameter sheetsWithoutOffsetWhenOrdered: `earlierSheets.ownSheetsWithoutOffset` when the write was ordered.
    mutating func noteOwnSheet(at offset: Int64, sheetsWithoutOffsetWhenOrdered: Int) {
        earlierSheets.noteOwnSheet(at: offset, sheetsWithoutOffsetWhenOrdered: sheetsWithoutOffsetWhenOrdered)
    }

    /// Remembers a sheet that we wrote to this tier, and that may be stored twice or whose jobs may also lie on another
    /// sheet.
    ///
    /// - Parameters:
    ///   - offset: nil if it is unknown.
    ///   - receiptsOffset: the outcome of the duplicate lies at or above this offset of `receipts`.
    mutating func holdDuplicate(at offset: Int64?, receiptsFrom receiptsOffset: Int64) {
        if let offset {
            duplicateHolds.add(offset, receiptsFrom: receiptsOffset)
        } else {
            earlierSheets.addOwnSheetWithoutOffset(receiptsFrom: receiptsOffset)
        }
    }

    // MARK: Reading

    mutating func pause() { isPaused = true }

    /// Resumes reading. Returns the offset to read from; nil to continue at the pause.
    mutating func resume() -> Int64? {
        isPaused = false
        let from = waitsForDeferredSheet ? tracker.position : nil
        tierReading?.resume()
        return from
    }

    // MARK: Commits

    /// Notes a commit. The window moves with it.
    mutating func committed(_ offset: Int64, with metadata: CommitMetadata) {
        committedOffset = offset
        committedReceiptsFrom = metadata.receiptsFrom
        windowEnd = offset + metadata.window
    }

    /// Returns the offset of `receipts` from which the next owner must read.
    ///
    /// - Parameter end: the end of our own receipts.
    mutating func receiptsForNextOwner(end: Int64) -> Int64 {
        var from = tracker.receiptsFrom(otherwise: end)
        if earlierSheets.mayBeUnfinished(tracker) { from = min(from, earlierSheets.receiptsFrom) }
        let heldFrom = duplicateHolds.receiptsFrom(above: tracker.offsetToCommit)
        if let heldFrom { from = min(from, heldFrom) }
        return from
    }
}
