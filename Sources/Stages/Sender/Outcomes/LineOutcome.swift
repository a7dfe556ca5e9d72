internal import LiveActivity

/// The outcome of a line that APNs did not accept.
enum LineOutcome: Sendable, Hashable {
    case final(ReceiptOutcome, status: Int?, reason: String?)
    /// The job is tried again from a tier.
    case later(LaterTier, tries: Int, status: Int?, reason: String?)
    case deadLetter(code: String, status: Int?, reason: String?)
    /// The intent of a start is withdrawn, and the next owner of the lane takes over the job.
    case released

    /// Whether its record transfers the job to another attempt or owner.
    var isTransfer: Bool {
        switch self {
        case .later, .released: true
        case .final, .deadLetter: false
        }
    }
}
