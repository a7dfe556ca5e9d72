internal import Jobs

/// The decided lines of a sheet whose outcomes are not written yet, by outcome. Lines with the same outcome share a
/// part of a receipt, or another record.
struct UnwrittenOutcomes {
    struct LinesOfOutcome {
        let outcome: LineOutcome
        var lines: LineBitmap
    }

    /// Lines that APNs accepted.
    private(set) var accepted = LineBitmap()
    private(set) var others: [LinesOfOutcome] = []

    /// Number of lines.
    var lineCount: Int { others.reduce(accepted.count) { $0 + $1.lines.count } }

    mutating func addAccepted(_ line: Int) { accepted.insert(line) }

    mutating func add(_ line: Int, as outcome: LineOutcome) {
        // The search begins with the newest outcome, because neighboring lines often share one.
        for index in others.indices.reversed() where others[index].outcome == outcome {
            others[index].lines.insert(line)
            return
        }
        var lines = LineBitmap()
        lines.insert(line)
        others.append(LinesOfOutcome(outcome: outcome, lines: lines))
    }

    /// Adds lines again whose record may not be written yet.
    mutating func putBack(_ linesOfOutcome: LinesOfOutcome) { others.append(linesOfOutcome) }

    /// Removes all lines, and returns them.
    mutating func takeAll() -> UnwrittenOutcomes {
        let outcomes = self
        accepted.removeAll()
        others.removeAll(keepingCapacity: true)
        return outcomes
    }
}
