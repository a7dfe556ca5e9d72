package import Lifecycle

/// The current time. Waits and ages use the steady clock, deadlines and stamps use the cluster's clock.
package struct CurrentTime: Sendable, Hashable {
    /// The steady clock.
    package var now: Instant
    /// The cluster's clock, in milliseconds since 1970.
    package var unixMilliseconds: Int64
    /// The latest time that has surely passed, in milliseconds since 1970. Deadlines before it have passed. It is
    /// earlier than `unixMilliseconds` while the cluster's time is uncertain (`SenderClock`).
    package var passedUnixMilliseconds: Int64

    /// - Parameter passed: the time that has surely passed; nil if `unixMilliseconds` is certain.
    package init(now: Instant, unixMilliseconds: Int64, passed: Int64? = nil) {
        self.now = now
        self.unixMilliseconds = unixMilliseconds
        passedUnixMilliseconds = passed ?? unixMilliseconds
    }

    /// Returns whether a deadline, in seconds since 1970, has passed.
    func isPast(deadline seconds: Int64) -> Bool { passedUnixMilliseconds / 1000 >= seconds }
}
