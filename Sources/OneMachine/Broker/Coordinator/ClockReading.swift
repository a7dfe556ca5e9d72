package import Lifecycle
package import Telemetry

/// The three clocks, read at one moment.
package struct ClockReading: Sendable {
    /// For waits and timeouts inside the process.
    package let steady: Instant
    /// For times that are stored.
    package let wall: WallTime
    /// For decisions about expiry. This clock (`ExpiryClock`) does not follow a jump of the machine's clock.
    package let expiry: WallTime

    package init(steady: Instant, wall: WallTime, expiry: WallTime? = nil) {
        self.steady = steady
        self.wall = wall
        self.expiry = expiry ?? wall
    }
}
