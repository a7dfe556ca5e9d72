internal import Containers

/// The records of a tier's partition whose jobs may have duplicates, and the receipts that they need.
///
/// A job that was written to the tier may be stored there twice, or may also lie on the sheet that it came from. The
/// receipt of one copy shows that the other is done. So the next owner must read these receipts as long as the record
/// is not finished.
///
/// Only records of this owner are here. `LanePartition` covers the records of earlier owners.
struct DuplicateJobHolds {
    /// A range of records, and the receipts that they need.
    private struct ReceiptHold {
        /// Offset of the last record.
        var offset: Int64
        /// The outcomes of the duplicates lie at or above this offset of `receipts`.
        var receiptsFrom: Int64
    }

    /// Holds within this distance of `receipts` are merged.
    private static let mergeDistance: Int64 = 500

    /// Holds that are complete, in order.
    private var earlier = FIFOQueue<ReceiptHold>()
    /// The newest hold, into which the next record may be merged.
    private var newest: ReceiptHold?

    /// Adds a record of the tier whose jobs may have duplicates.
    mutating func add(_ offset: Int64, receiptsFrom: Int64) {
        if let hold = newest, receiptsFrom - hold.receiptsFrom < Self.mergeDistance {
            newest = ReceiptHold(
                offset: max(hold.offset, offset), receiptsFrom: min(hold.receiptsFrom, receiptsFrom))
        } else {
            if let hold = newest { earlier.append(hold) }
            newest = ReceiptHold(offset: offset, receiptsFrom: receiptsFrom)
        }
    }

    /// Returns the offset from which receipts must be read for unfinished records; nil without such records.
    ///
    /// - Parameter base: all records of the tier below it are finished.
    mutating func receiptsFrom(above base: Int64) -> Int64? {
        while let hold = earlier.first, hold.offset < base { earlier.removeFirst() }
        if let hold = newest, hold.offset < base { newest = nil }
        var lowest = newest?.receiptsFrom
        if let hold = earlier.first { lowest = min(lowest ?? hold.receiptsFrom, hold.receiptsFrom) }
        return lowest
    }
}
