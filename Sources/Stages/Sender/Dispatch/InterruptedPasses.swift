internal import Jobs

/// The points where newer updates interrupted passes. A pass is the pushes of one update to a group through a lane. The
/// point of an interruption is the phone that was next, and the pass of the newer update begins there.
///
/// Without this, each update would begin its pass at a different phone. If updates came faster than a pass takes,
/// chance would decide which phones are reached, and some phones would miss many updates. If each pass continues where
/// the last one stopped, every phone is reached once in the time of a whole pass.
struct InterruptedPasses {
    private struct PassKey: Hashable {
        let lane: Int32
        let group: Fingerprint
    }

    private struct InterruptionPoint {
        /// The phone's activity.
        let subject: UInt64
        /// Version of the update that continues the pass; nil until a sheet with the phone has come.
        var continuedBy: Int64?
        /// Number of later updates that were interrupted before they reached the phone.
        var missed = 0
    }

    /// Limit of remembered points. At the limit all are forgotten, and passes begin where their updates begin.
    static let pointsMax = 10_000
    /// Limit of updates that are interrupted before they reach the phone of the point. After that the phone may be
    /// gone, and the point is set to another one.
    private static let missedMax = 2

    private var points: [PassKey: InterruptionPoint] = [:]

    /// Remembers the phone that is next in each lane.
    ///
    /// - Parameters:
    ///   - sheets: of one group, with lines that are still to be sent.
    ///   - seed: of the fingerprints of subjects.
    mutating func interrupt(_ sheets: [Sheet], seed: UInt64) {
        var nextSheetOfLane: [Int32: Sheet] = [:]
        for sheet in sheets {
            let lane = sheet.lane.number
            if let earliest = nextSheetOfLane[lane], !sheet.comesBefore(earliest) { continue }
            nextSheetOfLane[lane] = sheet
        }
        for (lane, sheet) in nextSheetOfLane {
            guard let group = sheet.group, let line = sheet.nextUnsent else { continue }
            setPoint(of: PassKey(lane: lane, group: group), at: line, in: sheet, seed: seed)
        }
    }

    /// Sets the point of a pass to a line. An earlier point stays while no update has continued from it, until too many
    /// updates have missed its phone.
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

    /// Lets a newly queued sheet continue an interrupted pass of its group and lane, if there is one. Returns whether
    /// the sheet continues it. Such a sheet goes before earlier sheets of its update.
    ///
    /// The first sheet with the phone of the point continues from that phone. All later sheets of its update follow it.
    mutating func continuePass(with sheet: Sheet, seed: UInt64) -> Bool {
        guard !points.isEmpty, sheet.isPartOfPass, let group = sheet.group else { return false }
        let pass = PassKey(lane: sheet.lane.number, group: group)
        guard var point = points[pass] else { return false }
        // A sheet with the phone has come: sheets of its update follow it, and a sheet of another update ends the pass.
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
