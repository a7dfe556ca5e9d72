internal import Containers
internal import LiveActivity

/// The points where newer states interrupted passes of groups through their lanes. A point is the phone whose
/// turn was next.
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
        let subject: UInt64
        /// Version of the update that continues the pass; nil until its sheet with the phone has come.
        var continuedBy: Int64?
        /// Number of updates that were overtaken before that.
        var missed = 0
    }

    /// Limit of remembered passes. Beyond it all are forgotten, and passes begin where their updates begin.
    static let pointsMax = 10_000
    /// Limit of missed updates. After that the phone may be gone.
    private static let missedMax = 2

    private var points: [PassKey: InterruptionPoint] = [:]

    /// Marks the next phone of each lane.
    ///
    /// - Parameter sheets: of one group, with lines that are still to be sent.
    mutating func interrupt(_ sheets: [Sheet], seed: UInt64) {
        var next: [Int32: Sheet] = [:]
        for sheet in sheets {
            let lane = sheet.lane.number
            if let known = next[lane], !sheet.comesBefore(known) { continue }
            next[lane] = sheet
        }
        for (lane, sheet) in next {
            guard let group = sheet.group, let line = sheet.nextUnsent else { continue }
            let key = PassKey(lane: lane, group: group)
            if var point = points[key], point.continuedBy == nil, point.missed < Self.missedMax {
                point.missed += 1
                points[key] = point
                continue
            }
            sheet.nameSubjects(seed: seed)
            if points.count >= Self.pointsMax { points.removeAll() }
            points[key] = InterruptionPoint(subject: sheet.subjects[line])
        }
    }

    /// Returns whether the sheet goes before earlier sheets of its update. The sheet with the marked phone
    /// continues from that phone.
    mutating func isContinued(by sheet: Sheet, seed: UInt64) -> Bool {
        guard !points.isEmpty, sheet.isOfPass, let group = sheet.group else { return false }
        let key = PassKey(lane: sheet.lane.number, group: group)
        guard var point = points[key] else { return false }
        if let version = point.continuedBy {
            let continues = version == sheet.head.version
            sheet.continuePass(continues)
            if !continues { points[key] = nil }
            return continues
        }
        sheet.nameSubjects(seed: seed)
        guard let line = sheet.subjects.firstIndex(of: point.subject) else { return false }
        point.continuedBy = sheet.head.version
        points[key] = point
        sheet.continuePass(at: line)
        return true
    }
}

extension Sheet {
    /// Returns whether this sheet comes before another of the same update and lane. Sheets that continue a
    /// pass come first. A sheet that has only passed-over lines comes last.
    fileprivate func comesBefore(_ other: Sheet) -> Bool {
        let (rank, others) = (rank, other.rank)
        return rank == others ? offset < other.offset : rank < others
    }

    private var rank: Int { unsentAhead == nil ? 2 : continuesPass ? 0 : 1 }

    private var unsentAhead: Int? { (cursor..<lineCount).first(where: isUnsent) }

    fileprivate var nextUnsent: Int? { unsentAhead ?? (0..<passedOver).first(where: isUnsent) }

    /// Returns whether both belong to one update to one group.
    private func isOfSamePass(as other: Sheet) -> Bool {
        group == other.group && head.version == other.head.version && isOfPass
    }

    fileprivate func yields(to other: Sheet) -> Bool { !continuesPass && isOfSamePass(as: other) }
}

extension FIFOQueue<Sheet> {
    /// Moves the last sheet before the sheets of its update that yield to it. Each of these takes the place
    /// of the next one. Sheets of other updates keep their places.
    mutating func moveLastBeforeYieldingSheets() {
        guard let last else { return }
        var carried = last
        replaceAll { sheet in
            guard sheet === last || sheet.yields(to: last) else { return sheet }
            defer { carried = sheet }
            return carried
        }
    }
}
