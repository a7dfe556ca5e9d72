internal import Containers
internal import Jobs

// The order of the sheets of one pass: the pushes of one update to a group through a lane. If the update continues an
// interrupted pass, the sheets with the phones that are next come first.
extension Sheet {
    /// The rank of a sheet in its pass. Sheets with a lower rank come first.
    private enum PassRank: Int {
        /// The sheet continues an interrupted pass.
        case continuation
        /// The sheet has lines that were not passed over.
        case ordinary
        /// The sheet has only lines that were passed over.
        case passedOver
    }

    private var passRank: PassRank {
        if nextUnsentFromCursor == nil { return .passedOver }
        return continuesPass ? .continuation : .ordinary
    }

    /// Returns whether this sheet comes before another of the same update and lane.
    func comesBefore(_ other: Sheet) -> Bool {
        let (rank, otherRank) = (passRank.rawValue, other.passRank.rawValue)
        return rank == otherRank ? offset < other.offset : rank < otherRank
    }

    /// The first unsent line from the cursor on, then of the lines that were passed over.
    var nextUnsent: Int? { nextUnsentFromCursor ?? (0..<passedOverCount).first(where: isUnsent) }

    private var nextUnsentFromCursor: Int? { (cursor..<lineCount).first(where: isUnsent) }

    /// Returns whether the other sheet goes first because it continues the pass of both.
    fileprivate func yields(to other: Sheet) -> Bool { !continuesPass && isOfSamePass(as: other) }

    private func isOfSamePass(as other: Sheet) -> Bool {
        group == other.group && head.version == other.head.version && isPartOfPass
    }
}

extension FIFOQueue<Sheet> {
    /// Moves the last sheet, which continues a pass, before the sheets of its update that yield to it. Each of these
    /// takes the place of the next one. Sheets of other updates keep their places.
    mutating func moveLastBeforeYieldingSheets() {
        guard let last else { return }
        var sheetToPlace = last
        replaceAll { sheet in
            guard sheet === last || sheet.yields(to: last) else { return sheet }
            let placedSheet = sheetToPlace
            sheetToPlace = sheet
            return placedSheet
        }
    }
}
