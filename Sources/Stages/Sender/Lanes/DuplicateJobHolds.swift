internal import Containers

/// The sheets that this owner wrote to a tier's partition and whose jobs may have duplicates, with the receipts that
/// they need.
///
/// A job that was written to the tier may be stored there twice, or may also lie on the sheet that it came from. The
/// receipt of one copy shows that the other is done. So the next owner must read these receipts as long as the sheet is
/// not finished. `LanePartition` covers the sheets of earlier owners.
struct DuplicateJobHolds {
    /// One or more sheets in succession, and the receipts that they need.
    private struct ReceiptHold {
        /// The offset of the last sheet in the tier.
        var offset: Int64
        /// The outcomes of the duplicates lie at or above this offset of `receipts`.
        var receiptsFrom: Int64
    }

    /// Sheets whose receipts lie within this many offsets of `receipts` share a hold.
    private static let mergeDistance: Int64 = 500

    /// Holds that are complete, in order.
    private var earlier = FIFOQueue<ReceiptHold>()
    /// The newest hold, which the next sheet may join.
    private var newest: ReceiptHold?

    /// Adds the offset of a sheet in the tier.
    mutating func add(_ offset: Int64, receiptsFrom: Int64) {
        if let hold = newest, receiptsFrom - hold.receiptsFrom < Self.mergeDistance {
            newest = ReceiptHold(
                offset: max(hold.offset, offset), receiptsFrom: min(hold.receiptsFrom, receiptsFrom))
        } else {
            if let hold = newest { earlier.append(hold) }
            newest = ReceiptHold(offset: offset, receiptsFrom: receiptsFrom)
        }
    }

    /// Returns the offset of `receipts` from which they must be read for unfinished sheets; nil without such sheets.
    ///
    /// - Parameter base: all sheets of the tier below this offset are finished.
    mutating func receiptsFrom(above base: Int64) -> Int64? {
        while let hold = earlier.first, hold.offset < base { earlier.removeFirst() }
        if let hold = newest, hold.offset < base { newest = nil }
        guard let newest else { return earlier.first?.receiptsFrom }
        guard let oldest = earlier.first else { return newest.receiptsFrom }
        return min(oldest.receiptsFrom, newest.receiptsFrom)
    }
}
