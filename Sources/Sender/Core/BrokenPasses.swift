internal import LiveActivity

/// Where the passes of groups through their lanes were broken off by a newer state: the phone whose turn it was.
///
/// Each update walks a lane from a place of its own. Where updates come sooner than a pass is done, chance would
/// decide who is reached, and some phones would be left out for many updates; going on from where the last one
/// stopped, each has its turn once a pass.
struct BrokenPasses {
    private struct Place: Hashable {
        let lane: Int32
        let group: Fingerprint
    }

    private struct Mark {
        let subject: UInt64
        /// The update that goes on from it; nil until its sheet with the phone has come.
        var goesOn: Int64?
        /// Updates that were overtaken before that.
        var missed = 0
    }

    /// Passes that are remembered; beyond, all are forgotten, and those in hand begin where their updates do.
    static let marksMax = 10_000
    /// The phone may be gone.
    private static let missedMax = 2

    private var marks: [Place: Mark] = [:]

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

    /// Whether the sheet belongs before those of its update that came sooner. The one with the phone goes on from it.
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
    /// Of an update to a whole group, which the next one makes needless.
    var isOfPass: Bool { isPlain && head.event == .update && head.scope == .group && head.conflate }

    /// Of two of one update in one lane: those that go on come first, and last the one of which only lines are left
    /// that were passed over.
    fileprivate func comesBefore(_ other: Sheet) -> Bool {
        let (rank, others) = (rank, other.rank)
        return rank == others ? offset < other.offset : rank < others
    }

    private var rank: Int { freshAhead == nil ? 2 : goesOn ? 0 : 1 }

    private var freshAhead: Int? { (cursor..<lineCount).first(where: isFresh) }

    fileprivate var nextFresh: Int? { freshAhead ?? (0..<passedOver).first(where: isFresh) }

    /// Whether both are of one update to one group.
    private func isOfSamePass(as other: Sheet) -> Bool {
        group == other.group && head.version == other.head.version && isOfPass
    }

    fileprivate func yields(to other: Sheet) -> Bool { !goesOn && isOfSamePass(as: other) }
}

extension Queue<Sheet> {
    /// The last takes the place of the first of its update that came before its turn, that one the next one's, and
    /// so on: what waits of others keeps its place.
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
