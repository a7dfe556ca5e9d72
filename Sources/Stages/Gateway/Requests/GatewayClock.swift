internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The gateway's clock. It follows the cluster's clock from acknowledgements, because the planner uses that
/// clock too. Before the first acknowledgement it is the machine's clock.
final class GatewayClock: Sendable {
    private let state = TracedLock(ClusterClock(now: .now()))
    private let machineClock: @Sendable () -> WallTime

    /// - Parameter own: The machine's clock.
    init(machineClock: @escaping @Sendable () -> WallTime = { .now() }) { self.machineClock = machineClock }

    func observe(stamp: Int64) {
        let (machine, now) = (machineClock(), Instant.now())
        state.withLock { clock in
            clock.tick(machine: machine.milliseconds, at: now)
            clock.saw(stamp, at: now)
        }
    }

    var now: WallTime {
        let (machine, now) = (machineClock(), Instant.now())
        return state.withLock { clock in
            clock.tick(machine: machine.milliseconds, at: now)
            return clock.time(at: now)
        } ?? machine
    }
}
