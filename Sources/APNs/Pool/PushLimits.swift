package import Lifecycle

/// How long and how often a push may be tried. What a phone that is away may miss it by is none of this:
/// that is `apns-expiration`, which stands in the headers.
package struct PushLimits: Sendable, Hashable {
    /// It does not leave after this: what still waits ends as `notProcessed`, and nothing goes again.
    package var leaveBy: Instant
    /// When it ends without an answer: as `unknown` if it had left.
    package var deadline: Instant
    /// How often it may leave because of what APNs answered to it. What APNs surely did not process – a
    /// refused stream, one above a GOAWAY's last – does not count.
    package var attempts: Int

    package static let attemptsUsual = 4

    /// - Parameter leaveBy: the deadline, unless it is sooner.
    package init(leaveBy: Instant? = nil, deadline: Instant, attempts: Int = PushLimits.attemptsUsual) {
        self.leaveBy = min(leaveBy ?? deadline, deadline)
        self.deadline = deadline
        self.attempts = attempts
    }
}
