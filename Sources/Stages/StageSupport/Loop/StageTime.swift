package import Lifecycle
package import Telemetry

/// The two clocks of a loop. A simulation replaces them.
package struct StageTime {
    /// The steady clock.
    package let now: () -> Instant
    /// The machine's clock.
    package let wall: () -> WallTime

    package init(now: @escaping () -> Instant = { .now() }, wall: @escaping () -> WallTime = { .now() }) {
        self.now = now
        self.wall = wall
    }
}
