internal import Containers
internal import Lifecycle
internal import LiveActivity

/// One lane in hand: a partition of each jobs topic, and of `receipts`.
final class Lane {
    let number: Int32
    var phase = LanePhase.readingReceipts
    private var partitions: [LanePartition]
    var ledger: ReceiptLedger
    /// Our own records in `receipts` lie at or above this offset.
    private(set) var receiptsEnd: Int64 = 0
    /// End of the receipts that were read. An earlier owner may have written records behind it at the same
    /// time as we did.
    private(set) var readUntil: Int64 = 0
    /// Sheets that wait until an earlier owner has settled.
    private var held: [Sheet] = []
    /// Whether `receipts` had records at or after the offset in the earlier owner's metadata.
    private var hasFoundReceipts = false
    /// Sheets in hand.
    var sheets = 0
    @safe @exclusivity(unchecked) var pushesInFlight = 0
    /// Records without acknowledgement.
    var recordsBeingWritten = 0

    init(_ start: LaneStart, window: Int64, ledgerSheetsMax: Int) {
        number = start.lane
        partitions = zip(start.partitions, JobTopic.allCases).map {
            LanePartition($0, of: $1, window: window)
        }
        ledger = ReceiptLedger(sheetsMax: ledgerSheetsMax)
    }

    subscript(topic: JobTopic) -> LanePartition {
        _read { yield partitions[topic.rawValue] }
        _modify { yield &partitions[topic.rawValue] }
    }

    /// Whether everything of the lane is stored.
    var isDrained: Bool { sheets == 0 && recordsBeingWritten == 0 }

    var isSettled: Bool { phase.progress == .settled }
    var hasReadReceipts: Bool { phase.progress != .receiptsUnread }
    var mayPush: Bool { phase.mayPush }
    var isLeaving: Bool { phase.isLeaving }

    // MARK: Receipts

    /// The offset from which the earlier owners' receipts are read.
    var receiptsFrom: Int64 { partitions.map(\.receiptsFrom).min() ?? 0 }

    /// Takes over a receipt of an earlier owner.
    func found(_ receipt: Receipt) {
        hasFoundReceipts = true
        if isPast(receipt) { return ledger.recordPast(receipt.parts, of: receipt.position) }
        ledger.record(receipt.parts, of: receipt.position, attempt: receipt.attempt, isNews: true)
    }

    /// Whether a receipt is about a first attempt of a sheet below the committed offset. Only a duplicate of
    /// its jobs can need it.
    private func isPast(_ receipt: Receipt) -> Bool {
        guard receipt.attempt == 1, receipt.position.partition == number,
            let topic = JobTopic.allCases.first(where: { $0.word == receipt.position.topic })
        else { return false }
        return receipt.position.offset < self[topic].committed
    }

    func readReceipts(until end: Int64) {
        receiptsEnd = max(receiptsEnd, end)
        readUntil = max(readUntil, end)
    }

    func wroteReceipt(at offset: Int64) { receiptsEnd = max(receiptsEnd, offset + 1) }

    /// Returns whether an earlier owner may still have pushes in flight, given the end of `receipts`.
    func isUnsettled(endingAt end: Int64) -> Bool {
        partitions.contains { partition in
            guard let metadata = partition.earlierMetadata else { return hasFoundReceipts }
            return metadata.endedAt != end
        }
    }

    // MARK: Sheets

    /// Returns whether a sheet has to wait for the earlier owner.
    func isHeld(_ sheet: Sheet) -> Bool {
        phase.waitsForEarlierOwner && sheet.offset < self[sheet.topic].touchedBelow
    }

    func hold(_ sheet: Sheet) { held.append(sheet) }

    /// Returns the sheets that waited for the earlier owner.
    func takeHeld() -> [Sheet] {
        defer { held = [] }
        return held
    }

    /// Whether the sheet lies within the window and does not wait for an earlier owner.
    func hasBegun(_ sheet: Sheet) -> Bool {
        mayPush && !isHeld(sheet) && sheet.offset < self[sheet.topic].grantedBelow
    }

    // MARK: Metadata for a successor

    /// Returns whether sheets wait for our own metadata. While an earlier owner settles, sheets above its
    /// window wait for it. All sheets wait for it if the earlier owner's metadata does not say that pushes
    /// are in flight.
    func waitsForMetadata(of topic: JobTopic, window: Int64) -> Bool {
        let partition = self[topic]
        if partition.ahead.isEmpty { return false }
        if partition.needsOwnMetadata { return true }
        return phase.waitsForEarlierOwner && partition.grantedBelow < partition.touchedBelow + window
    }

    /// Whether a topic needs our own metadata at once. The metadata of the other topics is committed with it,
    /// so that no topic waits for its own later.
    var needsFirstMetadata: Bool { partitions.contains { !$0.ahead.isEmpty && $0.needsOwnMetadata } }

    /// Returns the metadata for a successor.
    ///
    /// - Parameter isEnding: whether nothing is in flight any more.
    func metadata(of topic: JobTopic, window: Int64, isEnding: Bool) -> CommitMetadata {
        let from = self[topic].receiptsForSuccessor(of: topic, end: receiptsEnd)
        let partition = self[topic]
        // While sheets of an earlier owner wait, a window that covers both windows lets the sheets above them
        // begin.
        var below = max(partition.grantedBelow, partition.touchedBelow)
        if phase.waitsForEarlierOwner { below = max(below, partition.touchedBelow + window) }
        return CommitMetadata(
            receiptsFrom: from, window: max(window, below - partition.tracker.base),
            endedAt: isEnding && isSettled ? receiptsEnd : nil)
    }
}
