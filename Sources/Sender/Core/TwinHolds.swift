/// Until when a tier's track has to be judged by old receipts: a job that was written to the tier may stand there
/// twice, or still where it came from, and what `receipts` say of the one tells that the other is done.
///
/// What an owner wrote himself he knows; of an earlier owner's records `Lane.Track` sees to it.
struct TwinHolds {
    private struct Hold {
        /// The last record that it is about.
        var offset: Int64
        /// Its twin's outcome lies at or above it.
        var receiptsFrom: Int64
    }

    /// Holds that lie so near to each other are one.
    private static let nearby: Int64 = 500

    private var holds = Queue<Hold>()
    private var last: Hold?

    /// A record that may be a twin lies at an offset of the tier.
    mutating func add(_ offset: Int64, receiptsFrom: Int64) {
        if let known = last, receiptsFrom - known.receiptsFrom < Self.nearby {
            last = Hold(
                offset: max(known.offset, offset), receiptsFrom: min(known.receiptsFrom, receiptsFrom))
        } else {
            if let known = last { holds.append(known) }
            last = Hold(offset: offset, receiptsFrom: receiptsFrom)
        }
    }

    /// From where on receipts must be read while nothing is finished above `base`; nil where no record is open.
    mutating func receiptsFrom(above base: Int64) -> Int64? {
        while let first = holds.first, first.offset < base { holds.removeFirst() }
        if let known = last, known.offset < base { last = nil }
        var from = last?.receiptsFrom
        if let first = holds.first { from = min(from ?? first.receiptsFrom, first.receiptsFrom) }
        return from
    }
}
