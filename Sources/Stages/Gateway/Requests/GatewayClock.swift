internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The gateway's clock. It follows the cluster's clock from acknowledgements, because the planner uses that
/// clock too. Before the first acknowledgement it is the machine's clock.
final class GatewayClock: Sendable {
    private let state = TracedLock(ClusterClock(now: .now()))
    private let own: @Sendable () -> WallTime

    /// - Parameter own: The machine's clock.
    init(own: @escaping @Sendable () -> WallTime = { .now() }) { self.own = own }

    func saw(_ stamp: Int64) {
        let (machine, now) = (own(), Instant.now())
        state.withLock { clock in
            clock.tick(machine: machine.milliseconds, at: now)
            clock.saw(stamp, at: now)
        }
    }

    var now: WallTime {
        let (machine, now) = (own(), Instant.now())
        return state.withLock { clock in
            clock.tick(machine: machine.milliseconds, at: now)
            return clock.time(at: now)
        } ?? machine
    }
}
