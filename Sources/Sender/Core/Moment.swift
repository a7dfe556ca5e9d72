package import Lifecycle

/// What time it is: waits and ages go by the steady clock, deadlines and stamps by the cluster's.
package struct Moment: Sendable, Hashable {
    package var now: Instant
    /// Milliseconds since 1970.
    package var wall: Int64
    /// Milliseconds since 1970 that have surely passed.
    package var passed: Int64

    /// - Parameter passed: nil where `wall` is certain.
    package init(now: Instant, wall: Int64, passed: Int64? = nil) {
        self.now = now
        self.wall = wall
        self.passed = passed ?? wall
    }

    /// Whether a time has passed, in seconds since 1970.
    func isPast(_ seconds: Int64) -> Bool { passed / 1000 >= seconds }
}
