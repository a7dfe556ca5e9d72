package import Lifecycle

/// What time it is: waits and ages go by the steady clock, deadlines and stamps by the wall's.
package struct Moment: Sendable, Hashable {
    package var now: Instant
    /// Milliseconds since 1970.
    package var wall: Int64

    package init(now: Instant, wall: Int64) {
        self.now = now
        self.wall = wall
    }

    var seconds: Int64 { wall / 1000 }
}
