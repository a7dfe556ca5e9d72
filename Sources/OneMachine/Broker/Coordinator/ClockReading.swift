internal import Lifecycle
internal import Telemetry

/// The clocks, read together. Waits inside the process go by the steady clock. Times that are stored
/// go by the wall clock. Whether something has expired goes by `expiry`, which does not follow a jump.
struct ClockReading: Sendable {
    let steady: Instant
    let wall: WallTime
    let expiry: WallTime

    init(steady: Instant, wall: WallTime, expiry: WallTime? = nil) {
        self.steady = steady
        self.wall = wall
        self.expiry = expiry ?? wall
    }
}
