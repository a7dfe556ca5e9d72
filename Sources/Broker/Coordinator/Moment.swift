internal import Lifecycle
internal import Telemetry

/// The two clocks, read together: what waits inside the process goes by the steady one, what is
/// stored and read again after a restart by the wall.
struct Moment: Sendable {
    let steady: Instant
    let wall: WallTime

    static func now() -> Moment { Moment(steady: .now(), wall: .now()) }
}
