internal import Containers
internal import Jobs
internal import Lifecycle

/// One lane of ours: the partitions with one number, of each jobs topic and of `receipts`. `LaneOwnership` takes it
/// over in phases (`LanePhase`). It is a class, because its sheets refer to it.
final class Lane {
    let number: Int32
    /// The number of this process's loop as an owner of lanes.
    let owner: UInt64
    var phase = LanePhase.readingReceipts
    private var partitions: [LanePartition]
    /// Receipts about jobs that an earlier owner may have begun, or that have a duplicate.
    var ledger: ReceiptLedger
    /// The end of `receipts` as far as it is known, with our own records. Records that we order now will lie at or
    /// above it.
    private(set) var receiptsEnd: Int64 = 0
    /// End of the receipts that were read. The next read begins here, because an earlier owner may have written records
    /// between ours.
    private(set) var receiptsReadUntil: Int64 = 0
    /// Whether `receipts` had a receipt at or after the offset in the earlier owner's metadata.
    private var hasFoundReceipts = false
    /// Whether `receipts` had the marker of another owner at or after that offset.
    private var hasFoundOtherOwner = false
    /// The offsets of the markers that were read last, without a receipt or a gap between them. It is empty before the
    /// first marker.
    private var newestMarkerRun: Range<Int64> = 0..<0
    /// Sheets within the window that wait until the earlier owner's pushes have ended.
    private var sheetsHeldForEarlierOwner: [Sheet] = []
    /// Number of sheets in hand.
    var sheetCount = 0
    // Access is unchecked, because every push accesses it, and only one thread does (`Sheet`).
    @safe @exclusivity(unchecked) var pushesInFlight = 0
    /// Number of its records that are written and not acknowledged yet.
    var recordsBeingWritten = 0

    /// - Parameter window: the number of offsets above the committed one in which sheets may begin.
    init(_ start: LaneStart, owner: UInt64, window: Int64, ledgerSheetsMax: Int) {
        number = start.lane
        self.owner = owner
        partitions = JobTopic.allCases.map { LanePartition(start[$0], of: $0, window: window) }
        ledger = ReceiptLedger(sheetsMax: ledgerSheetsMax)
    }

    subscript(topic: JobTopic) -> LanePartition {
        _read { yield partitions[topic.rawValue] }
        _modify { yield &partitions[topic.rawValue] }
    }

    /// Whether no sheet is in hand and no record is being written.
    var isDrained: Bool { sheetCount == 0 && recordsBeingWritten == 0 }

    /// Whether all pushes of earlier owners have ended, so that they write no more records.
    var haveEarlierPushesEnded: Bool { phase.progress == .earlierPushesEnded }
    var hasReadReceipts: Bool { phase.progress != .receiptsUnread }
    var mayPush: Bool { phase.mayPush }
    var isLeaving: Bool { phase.isLeaving }

    // MARK: Receipts of earlier owners

    /// The offset from which the earlier owners' receipts are read.
    var receiptsFrom: Int64 { partitions.map(\.earlierSheets.receiptsFrom).min() ?? 0 }

    /// Notes a receipt of an earlier owner in the ledger.
    func noteReceipt(_ receipt: Receipt) {
        hasFoundReceipts = true
        if isAboutFinishedSheet(receipt) {
            return ledger.recordBelowCommit(receipt.parts, of: receipt.position)
        }
        ledger.record(
            receipt.parts, of: receipt.position, attempt: receipt.attempt, invalidatesComparisons: true)
    }

    /// Whether a receipt is about a first attempt of a sheet below the committed offset. Only a duplicate of
    /// its jobs can need it.
    private func isAboutFinishedSheet(_ receipt: Receipt) -> Bool {
        guard receipt.attempt == 1, receipt.position.partition == number,
            let topic = JobTopic.allCases.first(where: { $0.word == receipt.position.topic })
        else { return false }
        return receipt.position.offset < self[topic].committedOffset
    }

    /// Notes that the receipts below an offset were read.
    func noteReceiptsRead(until end: Int64) {
        receiptsEnd = max(receiptsEnd, end)
        receiptsReadUntil = max(receiptsReadUntil, end)
    }

    /// Notes the marker of an owner, perhaps of ourselves.
    func noteMarker(_ marker: TakeoverMarker, at offset: Int64) {
        if marker.owner != owner { hasFoundOtherOwner = true }
        let start = newestMarkerRun.upperBound == offset ? newestMarkerRun.lowerBound : offset
        newestMarkerRun = start..<offset + 1
    }

    /// Notes a receipt or a marker of ours that is stored.
    func noteOurRecordStored(at offset: Int64) { receiptsEnd = max(receiptsEnd, offset + 1) }

    /// Returns whether an earlier owner may still have pushes in flight, after `receipts` were read up to our marker.
    func mayEarlierOwnerPush(beforeMarkerAt marker: Int64) -> Bool {
        partitions.contains { partition in
            // Without metadata, only receipts show that there was an earlier owner that pushed.
            guard let metadata = partition.earlierMetadata else { return hasFoundReceipts }
            return !wasOursSince(metadata) && !wasLeftInOrder(by: metadata, beforeMarkerAt: marker)
        }
    }

    /// Whether our own metadata is the newest, and no other owner has left a marker since. Then the lane was not
    /// assigned to another process. Our own pushes have ended, because the takeover waits for them
    /// (`LanePhase.awaitingOrphan`).
    private func wasOursSince(_ metadata: CommitMetadata) -> Bool {
        metadata.owner == owner && !hasFoundOtherOwner
    }

    /// Whether the owner that committed the metadata left in order, and no owner has pushed since. The metadata names
    /// the end of `receipts` when it left. Markers may follow: an owner that only wrote its marker has pushed nothing,
    /// because it commits metadata before its first push.
    private func wasLeftInOrder(by metadata: CommitMetadata, beforeMarkerAt marker: Int64) -> Bool {
        guard let endedAt = metadata.endedAt else { return false }
        // If the last receipt ended at or before `endedAt`, no receipt was written since, only markers.
        return (lastReceiptEnd(before: marker)...marker).contains(endedAt)
    }

    /// Returns the end of the last receipt before our marker. Only other markers lie between the two.
    private func lastReceiptEnd(before marker: Int64) -> Int64 {
        newestMarkerRun.upperBound == marker ? newestMarkerRun.lowerBound : marker
    }

    // MARK: Sheets

    /// Returns whether `receipts` may have outcomes of the sheet's jobs that are not ours: of a duplicate, if the sheet
    /// comes from a tier, or of an earlier owner, if the sheet lies in its window. A sheet whose duplicate lies in a
    /// tier is in that window too.
    func mayHaveReceipts(about sheet: Sheet) -> Bool {
        sheet.originLines != nil || sheet.offset < self[sheet.topic].earlierWindowEnd
    }

    /// Returns whether a sheet has to wait for the earlier owner.
    func mustHoldForEarlierOwner(_ sheet: Sheet) -> Bool {
        phase.waitsForEarlierOwner && sheet.offset < self[sheet.topic].earlierWindowEnd
    }

    /// Holds a sheet until `takeSheetsHeldForEarlierOwner`.
    func holdForEarlierOwner(_ sheet: Sheet) { sheetsHeldForEarlierOwner.append(sheet) }

    /// Removes the sheets that were held for the earlier owner, and returns them.
    func takeSheetsHeldForEarlierOwner() -> [Sheet] {
        let sheets = sheetsHeldForEarlierOwner
        sheetsHeldForEarlierOwner = []
        return sheets
    }

    /// Whether lines of a sheet may leave: the lane may push, and the sheet lies within the window and does not wait
    /// for an earlier owner.
    func mayPush(_ sheet: Sheet) -> Bool {
        mayPush && !mustHoldForEarlierOwner(sheet) && sheet.offset < self[sheet.topic].windowEnd
    }
}
