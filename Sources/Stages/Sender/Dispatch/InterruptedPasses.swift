internal import Containers
internal import Jobs

/// The points where newer states interrupted passes. A pass is the pushes of one update to a group through a lane, and
/// the point is the phone whose turn was next.
///
/// Each update starts its pass through a lane at a different phone. If updates come faster than a pass takes,
/// chance would decide which phones are reached, and some would miss many updates. If each pass continues
/// where the last one stopped, every phone has its turn once a pass.
struct InterruptedPasses {
    private struct PassKey: Hashable {
        let lane: Int32
        let group: Fingerprint
    }

    private struct InterruptionPoint {
        /// The phone's activity.
        let subject: UInt64
        /// Version of the update that continues the pass; nil until its sheet with the phone has come.
        var continuedBy: Int64?
        /// Number of later updates that were overtaken before they reached the phone.
        var missed = 0
    }

    /// Limit of remembered points. At the limit all are forgotten, and passes begin where their updates begin.
    static let pointsMax = 10_000
    /// Limit of missed updates. After that the phone may be gone, and the point is set again.
    private static let missedMax = 2

    private var points: [PassKey: InterruptionPoint] = [:]

    /// Remembers the next phone of each lane.
    ///
    /// - Parameter sheets: of one group, with lines that are still to be sent.
    mutating func interrupt(_ sheets: [Sheet], seed: UInt64) {
        var nextSheets: [Int32: Sheet] = [:]
        for sheet in sheets {
            let lane = sheet.lane.number
            if let earliest = nextSheets[lane], !sheet.comesBefore(earliest) { continue }
            nextSheets[lane] = sheet
        }
        for (lane, sheet) in nextSheets {
            guard let group = sheet.group, let line = sheet.nextUnsent else { continue }
            setPoint(of: PassKey(lane: lane, group: group), at: line, in: sheet, seed: seed)
        }
    }

    /// Sets the point to a line. A point that no update has continued from yet stays, until its phone has missed
    /// too many updates.
    private mutating func setPoint(of pass: PassKey, at line: Int, in sheet: Sheet, seed: UInt64) {
        if var point = points[pass], point.continuedBy == nil, point.missed < Self.missedMax {
            point.missed += 1
            points[pass] = point
            return
        }
        sheet.ensureSubjects(seed: seed)
        if points.count >= Self.pointsMax { points.removeAll() }
        points[pass] = InterruptionPoint(subject: sheet.subjects[line])
    }

    /// Returns whether the sheet continues a pass, so that it goes before earlier sheets of its update. The sheet with
    /// the phone of the point continues from that phone, and later sheets of its update follow.
    mutating func isContinued(by sheet: Sheet, seed: UInt64) -> Bool {
        guard !points.isEmpty, sheet.isPartOfPass, let group = sheet.group else { return false }
        let pass = PassKey(lane: sheet.lane.number, group: group)
        guard var point = points[pass] else { return false }
        if let version = point.continuedBy {
            let continues = version == sheet.head.version
            sheet.setContinuesPass(continues)
            if !continues { points[pass] = nil }
            return continues
        }
        sheet.ensureSubjects(seed: seed)
        guard let line = sheet.subjects.firstIndex(of: point.subject) else { return false }
        point.continuedBy = sheet.head.version
        points[pass] = point
        sheet.continuePass(at: line)
        return true
    }
}

extension Sheet {
    /// Returns whether this sheet comes before another of the same update and lane. Sheets that continue a
    /// pass come first. A sheet that has only passed-over lines comes last.
    fileprivate func comesBefore(_ other: Sheet) -> Bool {
        let (rank, otherRank) = (passRank, other.passRank)
        return rank == otherRank ? offset < other.offset : rank < otherRank
    }

    private var passRank: Int {
        if nextUnsentFromCursor == nil { return 2 }
        return continuesPass ? 0 : 1
    }

    private var nextUnsentFromCursor: Int? { (cursor..<lineCount).first(where: isUnsent) }

    /// The first unsent line from the cursor on, then of the lines that were passed over.
    fileprivate var nextUnsent: Int? { nextUnsentFromCursor ?? (0..<passedOver).first(where: isUnsent) }

    /// Returns whether both belong to one update to one group.
    private func isOfSamePass(as other: Sheet) -> Bool {
        group == other.group && head.version == other.head.version && isPartOfPass
    }

    /// Returns whether the other sheet, which continues the pass, goes first.
    fileprivate func yields(to other: Sheet) -> Bool { !continuesPass && isOfSamePass(as: other) }
}

extension FIFOQueue<Sheet> {
    /// Moves the last sheet before the sheets of its update that yield to it. Each of these takes the place
    /// of the next one. Sheets of other updates keep their places.
    mutating func moveLastBeforeYieldingSheets() {
        guard let last else { return }
        var sheetToPlace = last
        replaceAll { sheet in
            guard sheet === last || sheet.yields(to: last) else { return sheet }
            defer { sheetToPlace = sheet }
            return sheetToPlace
        }
    }
}
