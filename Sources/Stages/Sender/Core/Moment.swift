package import Lifecycle

/// The current time. Waits and ages use the steady clock, deadlines and stamps use the cluster's clock.
package struct Moment: Sendable, Hashable {
    package var now: Instant
    /// Milliseconds since 1970.
    package var wall: Int64
    /// Milliseconds since 1970 that have surely passed.
    package var passed: Int64

    /// - Parameter passed: nil if `wall` is certain.
    package init(now: Instant, wall: Int64, passed: Int64? = nil) {
        self.now = now
        self.wall = wall
        self.passed = passed ?? wall
    }

    /// Returns whether a time has passed, in seconds since 1970.
    func isPast(_ seconds: Int64) -> Bool { passed / 1000 >= seconds }
}
