internal import Replay

/// The output of a redrive, which sends dead letters again.
struct RedriveReport {
    private let tally: Redrive.Tally

    init(_ tally: Redrive.Tally) { self.tally = tally }

    /// - Parameter isDone: false for the plan.
    func text(isDone: Bool) -> String {
        let counts = "\(tally.letters) letters with \(tally.jobs) jobs"
        var lines = [isDone ? "sent \(counts) again" : "\(counts) will be sent again"]
        if tally.alreadySent > 0 {
            lines.append("\(tally.alreadySent) were already sent by an earlier call that was interrupted")
        }
        return (lines + tally.skipped.sentences).joined(separator: "\n")
    }

    func json(isDone: Bool) -> String {
        var line = JSONLine()
        line.field(isDone ? "sentAgain" : "wouldSendAgain", Int64(tally.letters))
        line.field("jobs", Int64(tally.jobs))
        line.field("settled", Int64(tally.alreadySent))
        line.addSkippedCounts(tally.skipped)
        return line.text
    }
}

extension [ReplaySkipReason: Int] {
    /// Sentences about the dead letters that stay, with the reasons.
    var sentences: [String] {
        sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) stay: \($0.key.explanation)" }
    }
}

extension JSONLine {
    /// Adds the field `stay` with the counts by reason: `["expired=3"]`.
    mutating func addSkippedCounts(_ skipped: [ReplaySkipReason: Int]) {
        field(
            "stay",
            skipped.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue)=\($0.value)" })
    }
}
