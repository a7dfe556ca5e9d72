/// Which sheets of a partition are unfinished, and from where on the next owner has to read: the lowest of
/// them. Offsets may have gaps, where transactions end.
struct OffsetTracker: Sendable {
    private struct Entry {
        let offset: Int64
        var isFinished = false
        /// No record of `receipts` about this sheet lies before this; nil while there is none.
        var receiptsFrom: Int64?
    }

    private var entries: [Entry] = []
    /// The entries before it are finished and counted.
    private var head = 0
    /// The offset after the last sheet that was read.
    private(set) var position: Int64

    init(from offset: Int64) { position = offset }

    /// What may be committed: all below is finished.
    var base: Int64 { head < entries.count ? entries[head].offset : position }
    var unfinished: Int { entries.count - head }

    /// False for a sheet that was read before: it is in hand, or finished.
    mutating func began(_ offset: Int64) -> Bool {
        guard offset >= position else { return false }
        entries.append(Entry(offset: offset))
        position = offset + 1
        return true
    }

    /// Everything below the offset was read, or is gone. The offset can lie behind the last sheet, because the end of a
    /// transaction takes an offset too.
    mutating func reached(_ offset: Int64) { position = max(position, offset) }

    mutating func wrote(_ offset: Int64, receiptsFrom: Int64) {
        guard let index = index(of: offset), entries[index].receiptsFrom == nil else { return }
        entries[index].receiptsFrom = receiptsFrom
    }

    mutating func finished(_ offset: Int64) {
        guard let index = index(of: offset) else { return }
        entries[index].isFinished = true
        while head < entries.count, entries[head].isFinished { head += 1 }
        if head > 64, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// From where on `receipts` must be read to know all that is known of the unfinished sheets.
    func receiptsFrom(otherwise end: Int64) -> Int64 {
        var from = end
        for entry in entries[head...] { if let first = entry.receiptsFrom, first < from { from = first } }
        return from
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
