/// The unfinished sheets of a partition, by offset. The lowest of them is the offset to commit, from which the next
/// owner reads. Offsets may have gaps, because the end of a transaction takes an offset.
struct OffsetTracker: Sendable {
    private struct Entry {
        let offset: Int64
        var isFinished = false
        /// Lower bound of the records in `receipts` about this sheet, if it has any.
        var receiptsFrom: Int64?
    }

    private var entries: [Entry] = []
    /// Index of the first entry that is not finished. The entries before it no longer count.
    private var head = 0
    /// Entries before `head` are removed when they are the majority, and more than this number.
    private static let finishedEntriesKept = 64
    /// The offset after the last sheet that was read.
    private(set) var position: Int64

    init(from offset: Int64) { position = offset }

    /// The offset to commit: all sheets below are finished.
    var offsetToCommit: Int64 { head < entries.count ? entries[head].offset : position }
    /// Number of unfinished sheets.
    var unfinishedCount: Int { entries.count - head }

    /// Adds a sheet. Returns false for a sheet that was read before, whether it is in hand or finished.
    mutating func markRead(_ offset: Int64) -> Bool {
        guard offset >= position else { return false }
        entries.append(Entry(offset: offset))
        position = offset + 1
        return true
    }

    /// Notes that all sheets below the offset were read or deleted.
    mutating func advance(to offset: Int64) { position = max(position, offset) }

    /// Notes that the records about a sheet lie at or above an offset of `receipts`. Only the first call for a sheet
    /// counts.
    mutating func noteReceipts(about offset: Int64, from: Int64) {
        guard let index = index(of: offset), entries[index].receiptsFrom == nil else { return }
        entries[index].receiptsFrom = from
    }

    mutating func finish(_ offset: Int64) {
        guard let index = index(of: offset) else { return }
        entries[index].isFinished = true
        while head < entries.count, entries[head].isFinished { head += 1 }
        if head > Self.finishedEntriesKept, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Returns the offset of `receipts` from which all records about unfinished sheets can be read; `end` if there are
    /// none.
    func receiptsFrom(otherwise end: Int64) -> Int64 {
        var lowest = end
        for entry in entries[head...] {
            if let receiptsFrom = entry.receiptsFrom, receiptsFrom < lowest { lowest = receiptsFrom }
        }
        return lowest
    }

    private func index(of offset: Int64) -> Int? {
        var low = head
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].offset == offset ? low : nil
    }
}
