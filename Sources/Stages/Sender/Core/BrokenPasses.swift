internal import LiveActivity

/// The points where newer states broke off passes of groups through their lanes. A point is the phone whose
/// turn was next.
///
/// Each update starts its pass through a lane at a different phone. If updates come faster than a pass takes,
/// chance would decide which phones are reached, and some would miss many updates. If each pass continues
/// where the last one stopped, every phone has its turn once a pass.
struct BrokenPasses {
    private struct Place: Hashable {
        let lane: Int32
        let group: Fingerprint
    }

    private struct Mark {
        let subject: UInt64
        /// Version of the update that continues the pass; nil until its sheet with the phone has come.
        var goesOn: Int64?
        /// Number of updates that were overtaken before that.
        var missed = 0
    }

    /// Limit of remembered passes. Beyond it all are forgotten, and passes begin where their updates begin.
    static let marksMax = 10_000
    /// Limit of missed updates. After that the phone may be gone.
    private static let missedMax = 2

    private var marks: [Place: Mark] = [:]

    /// Marks the next phone of each lane.
    ///
    /// - Parameter sheets: of one group, with lines that are still to be sent.
    mutating func breakOff(_ sheets: [Sheet], seed: UInt64) {
        var next: [Int32: Sheet] = [:]
        for sheet in sheets {
            let lane = sheet.lane.number
            if let known = next[lane], !sheet.comesBefore(known) { continue }
            next[lane] = sheet
        }
        for (lane, sheet) in next {
            guard let group = sheet.group, let line = sheet.nextFresh else { continue }
            let place = Place(lane: lane, group: group)
            if var mark = marks[place], mark.goesOn == nil, mark.missed < Self.missedMax {
                mark.missed += 1
                marks[place] = mark
                continue
            }
            if sheet.subjects.isEmpty { sheet.nameSubjects(seed: seed) }
            if marks.count >= Self.marksMax { marks.removeAll() }
            marks[place] = Mark(subject: sheet.subjects[line])
        }
    }

    /// Returns whether the sheet goes before earlier sheets of its update. The sheet with the marked phone
    /// continues from that phone.
    mutating func goesOn(with sheet: Sheet, seed: UInt64) -> Bool {
        guard !marks.isEmpty, sheet.isOfPass, let group = sheet.group else { return false }
        let place = Place(lane: sheet.lane.number, group: group)
        guard var mark = marks[place] else { return false }
        if let version = mark.goesOn {
            sheet.goesOn = version == sheet.head.version
            if !sheet.goesOn { marks[place] = nil }
            return sheet.goesOn
        }
        if sheet.subjects.isEmpty { sheet.nameSubjects(seed: seed) }
        guard let line = sheet.subjects.firstIndex(of: mark.subject) else { return false }
        mark.goesOn = sheet.head.version
        marks[place] = mark
        sheet.goesOn(from: line)
        return true
    }
}

extension Sheet {
    /// Whether it is a part of an update to a whole group that the next update replaces.
    var isOfPass: Bool { isPlain && head.event == .update && head.scope == .group && head.conflate }

    /// Returns whether this sheet comes before another of the same update and lane. Sheets that continue a
    /// pass come first. A sheet that has only passed-over lines comes last.
    fileprivate func comesBefore(_ other: Sheet) -> Bool {
        let (rank, others) = (rank, other.rank)
        return rank == others ? offset < other.offset : rank < others
    }

    private var rank: Int { freshAhead == nil ? 2 : goesOn ? 0 : 1 }

    private var freshAhead: Int? { (cursor..<lineCount).first(where: isFresh) }

    fileprivate var nextFresh: Int? { freshAhead ?? (0..<passedOver).first(where: isFresh) }

    /// Returns whether both belong to one update to one group.
    private func isOfSamePass(as other: Sheet) -> Bool {
        group == other.group && head.version == other.head.version && isOfPass
    }

    fileprivate func yields(to other: Sheet) -> Bool { !goesOn && isOfSamePass(as: other) }
}

extension Queue<Sheet> {
    /// Moves the last sheet before the sheets of its update that yield to it. Each of these takes the place
    /// of the next one. Sheets of other updates keep their places.
    mutating func putLastBeforeThoseThatYield() {
        guard let last else { return }
        var carried = last
        replaceAll { sheet in
            guard sheet === last || sheet.yields(to: last) else { return sheet }
            defer { carried = sheet }
            return carried
        }
    }
}
