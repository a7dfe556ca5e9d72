/// What became of a job, or a mark on its way.
package enum ReceiptOutcome: String, Sendable, CaseIterable {
    /// APNs took it; that is all that a 200 says.
    case accepted
    case rejected
    /// A newer version took its place before it was sent, or its send was taken back.
    case superseded
    /// Nobody wanted it any more.
    case expired
    /// It was sent and nobody knows whether it arrived; it is not sent again.
    case unknown
    /// A mark: the job goes on in a later tier, as its next attempt.
    case moved
    /// A mark: a start is about to be sent. Without an outcome behind it, nobody knows whether it was.
    case intent
    /// A mark: the intent is taken back, and the start was surely not sent.
    case released

    /// Whether it is the job's last word. Of several the first counts: two processes may have had the job.
    package var isFinal: Bool {
        switch self {
        case .accepted, .rejected, .superseded, .expired, .unknown: true
        case .moved, .intent, .released: false
        }
    }
}
