internal import Jobs

/// The outcome of a line that APNs did not accept: the answer of APNs, or the sender's decision. Accepted lines are
/// kept separately, because nearly all lines are accepted.
enum LineOutcome: Sendable, Hashable {
    /// The job ends with a receipt.
    case final(ReceiptOutcome, status: Int?, reason: String?)
    /// The job waits in a tier for another try. The number of its tries so far goes with it.
    case retryInTier(LaterTier, tries: Int, status: Int?, reason: String?)
    /// The job goes to the dead letters, because a person should see it.
    case deadLetter(code: String, status: Int?, reason: String?)
    /// The intent of a start is withdrawn, and the next owner of the lane takes over the job.
    case released

    /// Returns the end of a job that must not be sent any more.
    static func stale(_ staleness: Staleness) -> LineOutcome {
        .final(.superseded, status: nil, reason: staleness.rawValue)
    }

    /// Returns the move of a line to a tier that does not count as a try. Its tries so far go with it.
    static func move(of line: Int, on sheet: Sheet, to tier: LaterTier, reason: String?) -> LineOutcome {
        .retryInTier(tier, tries: sheet.tries(of: line), status: nil, reason: reason)
    }

    /// Whether its record must not be written for a lane that may belong to another process: it gives the job to a
    /// later attempt or to the next owner, or ends a job that the next owner may push.
    var needsLease: Bool {
        switch self {
        case .retryInTier, .released: true
        case .final(let outcome, _, _): outcome.needsLease
        case .deadLetter: false
        }
    }
}

extension ReceiptOutcome {
    /// Whether a receipt with this outcome must not be written for a lane that may belong to another process. The other
    /// outcomes follow from a push, which a lease allowed, or announce one.
    var needsLease: Bool {
        switch self {
        case .superseded, .expired, .released: true
        case .accepted, .rejected, .unknown, .moved, .intent: false
        }
    }
}
