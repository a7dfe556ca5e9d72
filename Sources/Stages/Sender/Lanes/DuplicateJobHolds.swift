internal import Containers

/// The old receipts that a tier's partition still needs. A job that was written to the tier may be stored
/// there twice, or may also still lie on the sheet that it came from. The receipt of one copy shows that the
/// other is done.
///
/// It covers only records of this owner. `LanePartition` covers the records of earlier owners.
struct DuplicateJobHolds {
    private struct ReceiptHold {
        /// The last record that the hold covers.
        var offset: Int64
        /// The outcome of its duplicate lies at or above this offset.
        var receiptsFrom: Int64
    }

    /// Holds within this distance of `receipts` are merged.
    private static let mergeDistance: Int64 = 500

    private var holds = FIFOQueue<ReceiptHold>()
    private var last: ReceiptHold?

    /// Adds a record of the tier that may be a duplicate.
    mutating func add(_ offset: Int64, receiptsFrom: Int64) {
        if let known = last, receiptsFrom - known.receiptsFrom < Self.mergeDistance {
            last = ReceiptHold(
                offset: max(known.offset, offset), receiptsFrom: min(known.receiptsFrom, receiptsFrom))
        } else {
            if let known = last { holds.append(known) }
            last = ReceiptHold(offset: offset, receiptsFrom: receiptsFrom)
        }
    }

    /// Returns the offset from which receipts must be read while nothing above `base` is finished; nil if no
    /// such record is open.
    mutating func receiptsFrom(above base: Int64) -> Int64? {
        while let first = holds.first, first.offset < base { holds.removeFirst() }
        if let known = last, known.offset < base { last = nil }
        var from = last?.receiptsFrom
        if let first = holds.first { from = min(from ?? first.receiptsFrom, first.receiptsFrom) }
        return from
    }
}
