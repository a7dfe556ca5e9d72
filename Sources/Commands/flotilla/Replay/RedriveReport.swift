internal import JSON
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
        JSONLine.text { json in
            json.field(isDone ? "sentAgain" : "wouldSendAgain", tally.letters)
            json.field("jobs", tally.jobs)
            json.field("settled", tally.alreadySent)
            json.field("stay", tally.skipped.counts)
        }
    }
}

extension [ReplaySkipReason: Int] {
    private var inOrder: [(key: ReplaySkipReason, value: Int)] {
        sorted { $0.key.rawValue < $1.key.rawValue }
    }

    /// Sentences about the dead letters that stay, with the reasons.
    var sentences: [String] { inOrder.map { "\($0.value) stay: \($0.key.explanation)" } }

    /// The counts by reason, for JSON: `["expired=3"]`.
    var counts: [String] { inOrder.map { "\($0.key.rawValue)=\($0.value)" } }
}
