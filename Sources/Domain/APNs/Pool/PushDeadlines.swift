package import Lifecycle

/// The limits on the time and the number of attempts of a push. They are independent of `apns-expiration` in
/// the headers, which limits how late an offline phone may receive the push.
package struct PushDeadlines: Sendable, Hashable {
    /// Time after which the push is not sent, and not sent again. A push that still waits ends as
    /// `notProcessed`.
    package var sendBy: Instant
    /// Time at which a push without an answer ends: as `unknown` if it was sent.
    package var deadline: Instant
    /// Maximum number of attempts. An attempt that APNs has certainly not processed does not count: a refused
    /// stream, or a stream above the last one of a GOAWAY.
    package var attempts: Int

    /// The default of `attempts`.
    package static let attemptsDefault = 4

    /// - Parameter sendBy: the deadline if it is nil or later than the deadline.
    package init(sendBy: Instant? = nil, deadline: Instant, attempts: Int = PushDeadlines.attemptsDefault) {
        self.sendBy = min(sendBy ?? deadline, deadline)
        self.deadline = deadline
        self.attempts = attempts
    }
}
