internal import JSON
internal import Replay

/// The output of a resend, which pushes the failed jobs of a send again as a new send.
struct ResendReport {
    private let tally: Resend.Tally

    init(_ tally: Resend.Tally) { self.tally = tally }

    /// - Parameter isDone: false for the plan.
    func text(isDone: Bool) -> String {
        var lines = ["\(tally.jobs) failed jobs \(isDone ? "were pushed" : "will be pushed") again"]
        func addLine(count: Int, reason: String) {
            if count > 0 { lines.append("\(count) stay: \(reason)") }
        }
        addLine(
            count: tally.deadTokens,
            reason: "their token is dead; a new token gets the newest state automatically")
        addLine(
            count: tally.unknown, reason: "starts with an unknown outcome; --unknown-starts pushes them too")
        addLine(count: tally.sentBefore, reason: "they were sent again before")
        addLine(count: tally.lost, reason: "their sheet is no longer kept")
        return (lines + tally.skipped.sentences).joined(separator: "\n")
    }

    /// - Parameter newSendID: nil for the plan.
    func json(newSendID: String?) -> String {
        JSONLine.text { json in
            json.field(newSendID == nil ? "wouldPush" : "pushed", tally.jobs)
            json.field("sendId", newSendID)
            json.field("tokenGone", tally.deadTokens)
            json.field("unknownStarts", tally.unknown)
            json.field("sentAgainBefore", tally.sentBefore)
            json.field("notKept", tally.lost)
            json.field("stay", tally.skipped.counts)
        }
    }
}
