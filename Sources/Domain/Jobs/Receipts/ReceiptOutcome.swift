/// The outcome of a job. Some are final, the others are marks that a sender leaves for its successor.
package enum ReceiptOutcome: String, Sendable, CaseIterable {
    /// APNs answered 200. The answer does not mean that the phone received the push.
    case accepted
    /// The job is given up, because APNs or Flotilla refused the push.
    case rejected
    /// A newer version replaced the job before it was sent, its send was cancelled, or its user was erased.
    case superseded
    /// The deadline passed before APNs accepted the push.
    case expired
    /// The push was sent, and its result is unknown. It is not sent again.
    case unknown
    /// A mark: the job moved to a topic for jobs that wait, such as `jobs.later.5s`, for its next attempt.
    case moved
    /// A mark: a start is about to be sent. If no outcome follows, it is unknown whether the start was sent.
    case intent
    /// A mark: the intent is withdrawn, and the start was certainly not sent.
    case released

    /// Whether the outcome is final. The first of several final outcomes counts, because two processes may
    /// have had the job.
    package var isFinal: Bool {
        switch self {
        case .accepted, .rejected, .superseded, .expired, .unknown: true
        case .moved, .intent, .released: false
        }
    }
}
