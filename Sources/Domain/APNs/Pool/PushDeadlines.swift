package import Lifecycle

/// Limits on the time and the number of attempts of a push. They are independent of `apns-expiration` in the
/// headers, which limits how late an offline phone may receive the push.
package struct PushDeadlines: Sendable, Hashable {
    /// Time after which the push is not sent. A push that still waits ends as `notProcessed`, and no push is
    /// sent again.
    package var sendBy: Instant
    /// Time at which the push ends without an answer: as `unknown` if it was sent.
    package var deadline: Instant
    /// Number of times that the push may be sent because of an answer from APNs. Attempts that APNs has
    /// certainly not processed do not count: refused streams, and streams above the last one of a GOAWAY.
    package var attempts: Int

    package static let attemptsDefault = 4

    /// - Parameter leaveBy: the default, and the latest value, is the deadline.
    package init(sendBy: Instant? = nil, deadline: Instant, attempts: Int = PushDeadlines.attemptsDefault) {
        self.sendBy = min(sendBy ?? deadline, deadline)
        self.deadline = deadline
        self.attempts = attempts
    }
}
