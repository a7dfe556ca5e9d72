/// The unfinished sheets of a partition, by offset. The offset of the lowest one is the offset to commit, from which
/// the next owner reads. Offsets may have gaps, because the end of a transaction takes an offset.
struct OffsetTracker: Sendable {
    private struct TrackedSheet {
        let offset: Int64
        var isFinished = false
        /// Lower bound of the records in `receipts` about this sheet, if it has any.
        var receiptsFrom: Int64?
    }

    /// The sheets that were read, in the order of their offsets.
    private var trackedSheets: [TrackedSheet] = []
    /// Index of the first sheet that is not finished. The sheets before it no longer count.
    private var head = 0
    /// Sheets before `head` are removed when they are the majority, and more than this number.
    private static let finishedSheetsKept = 64
    /// The offset after the last sheet that was read.
    private(set) var position: Int64

    init(from offset: Int64) { position = offset }

    /// The offset to commit: all sheets below are finished.
    var offsetToCommit: Int64 { head < trackedSheets.count ? trackedSheets[head].offset : position }

    /// Adds a sheet. The caller has compared its offset with `position`: no sheet is read twice.
    mutating func markRead(_ offset: Int64) {
        precondition(offset >= position, "a sheet was read twice")
        trackedSheets.append(TrackedSheet(offset: offset))
        position = offset + 1
    }

    /// Notes that all sheets below the offset were read or deleted.
    mutating func advance(to offset: Int64) { position = max(position, offset) }

    /// Notes that the records about a sheet lie at or above an offset of `receipts`. Only the first call for a sheet
    /// counts.
    mutating func noteReceipts(about offset: Int64, from: Int64) {
        guard let index = index(of: offset), trackedSheets[index].receiptsFrom == nil else { return }
        trackedSheets[index].receiptsFrom = from
    }

    /// Notes that a sheet is finished.
    mutating func finish(_ offset: Int64) {
        guard let index = index(of: offset) else { return }
        trackedSheets[index].isFinished = true
        while head < trackedSheets.count, trackedSheets[head].isFinished { head += 1 }
        if head > Self.finishedSheetsKept, head * 2 > trackedSheets.count {
            trackedSheets.removeFirst(head)
            head = 0
        }
    }

    /// Returns the offset of `receipts` from which all records about unfinished sheets can be read; `end` if there are
    /// none.
    func receiptsFrom(otherwise end: Int64) -> Int64 {
        var lowest = end
        for sheet in trackedSheets[head...] {
            if let receiptsFrom = sheet.receiptsFrom, receiptsFrom < lowest { lowest = receiptsFrom }
        }
        return lowest
    }

    /// Returns the index of the sheet at an offset, by a binary search from `head` on. Returns nil for an offset
    /// without a sheet.
    private func index(of offset: Int64) -> Int? {
        var low = head
        var high = trackedSheets.count
        while low < high {
            let middle = (low + high) / 2
            if trackedSheets[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low < trackedSheets.count && trackedSheets[low].offset == offset ? low : nil
    }
}
