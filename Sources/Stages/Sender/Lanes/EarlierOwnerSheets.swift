/// The sheets of a partition that earlier owners of the lane began, or wrote to a tier, and that may be unfinished. As
/// long as there may be such sheets, the next owner must read the receipts about them. Sheets that we wrote to the tier
/// and whose offsets are unknown count too.
///
/// Three boundaries limit them. If all sheets below one of the boundaries are finished, no such sheet is unfinished:
///
/// | boundary | meaning |
/// |---|---|
/// | `windowEnd` | An earlier owner began sheets only below it. It says nothing about the sheets of a tier, because an owner writes there at any offset. |
/// | `confirmedEnd` | An end of the partition after which no earlier owner can write a sheet (`LaneOwnership+Ends`). |
/// | `ownSheetsFrom` | A sheet that we wrote to the tier after all of theirs. The end of a tier may never be reached, because its last sheets are not due. |
struct EarlierOwnerSheets {
    private let isTier: Bool
    /// The receipts about the sheets lie at or above this offset of `receipts`.
    private(set) var receiptsFrom: Int64

    // MARK: Boundaries

    let windowEnd: Int64
    private var confirmedEnd: Int64?
    /// The end that was reached last while an earlier owner might still write. It is kept until it is confirmed or
    /// deleted.
    private var unconfirmedEnd: Int64?
    private var ownSheetsFrom: Int64?
    /// Number of sheets that we wrote to the tier and whose offsets are unknown.
    private(set) var ownSheetsWithoutOffset = 0

    init(below windowEnd: Int64, receiptsFrom: Int64, isTier: Bool) {
        self.windowEnd = windowEnd
        self.receiptsFrom = receiptsFrom
        self.isTier = isTier
    }

    /// Returns whether such sheets may be unfinished, whether they were read or not.
    func mayBeUnfinished(_ tracker: OffsetTracker) -> Bool {
        let unfinishedFrom = tracker.offsetToCommit
        if let ownSheetsFrom, unfinishedFrom >= ownSheetsFrom { return false }
        if let confirmedEnd, unfinishedFrom >= confirmedEnd { return false }
        return isTier || unfinishedFrom < windowEnd
    }

    // MARK: The end of the partition

    /// Deletes the unconfirmed end, because a record lies after it.
    mutating func recordArrived() { unconfirmedEnd = nil }

    /// Handles the end of the partition: all records below the offset were read.
    ///
    /// - Parameter isConfirmed: whether no earlier owner can write a sheet after it.
    mutating func reachedEnd(at offset: Int64, isConfirmed: Bool) {
        if isConfirmed {
            confirmedEnd = confirmedEnd ?? offset
        } else {
            unconfirmedEnd = offset
        }
    }

    /// Confirms the unconfirmed end, if there is one: no earlier owner can write a sheet after it any more.
    mutating func confirmEnd() { confirmedEnd = confirmedEnd ?? unconfirmedEnd }

    // MARK: Our own sheets in a tier

    /// Notes a sheet that we wrote to the tier when no earlier owner could write there any more.
    ///
    /// - Parameter sheetsWithoutOffsetWhenOrdered: `ownSheetsWithoutOffset` when the write was ordered. If it has risen
    ///   since, a sheet of ours with an unknown offset may lie before this one.
    mutating func noteOwnSheet(at offset: Int64, sheetsWithoutOffsetWhenOrdered: Int) {
        if sheetsWithoutOffsetWhenOrdered == ownSheetsWithoutOffset {
            ownSheetsFrom = ownSheetsFrom ?? offset
        }
    }

    /// Adds a sheet of ours that may have a duplicate, and whose offset is unknown. It counts like a sheet of an
    /// earlier owner. It may lie at an end that was reached before, but lies before the next one, and before every
    /// sheet ordered from now on.
    ///
    /// - Parameter receiptsOffset: the outcome of the duplicate lies at or above this offset of `receipts`.
    mutating func addOwnSheetWithoutOffset(receiptsFrom receiptsOffset: Int64) {
        confirmedEnd = nil
        unconfirmedEnd = nil
        ownSheetsFrom = nil
        ownSheetsWithoutOffset += 1
        receiptsFrom = min(receiptsFrom, receiptsOffset)
    }
}
