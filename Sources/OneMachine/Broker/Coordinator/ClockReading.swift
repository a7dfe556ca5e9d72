internal import Lifecycle
internal import Telemetry

/// The three clocks, read at one moment.
struct ClockReading: Sendable {
    /// For waits and timeouts inside the process.
    let steady: Instant
    /// For times that are stored.
    let wall: WallTime
    /// For the decision what has expired. This clock does not follow a jump of the machine's clock.
    let expiry: WallTime

    init(steady: Instant, wall: WallTime, expiry: WallTime? = nil) {
        self.steady = steady
        self.wall = wall
        self.expiry = expiry ?? wall
    }
}
