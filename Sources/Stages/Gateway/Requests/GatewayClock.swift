internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The cluster's time, as far as this gateway knows it. The planner uses the same time. The producers pass
/// each broker's timestamp from the acknowledgements. Before the first one, `now` is the machine's time.
final class GatewayClock: Sendable {
    private let clusterClock = TracedLock(ClusterClock(now: .now()))
    private let machineClock: @Sendable () -> WallTime

    init(machineClock: @escaping @Sendable () -> WallTime = { .now() }) { self.machineClock = machineClock }

    /// - Parameter stamp: The timestamp of an acknowledged record, in milliseconds since 1970.
    func observe(stamp: Int64) {
        let (machine, now) = (machineClock(), Instant.now())
        clusterClock.withLock { clock in
            clock.observe(machineTime: machine.milliseconds, at: now)
            clock.observe(stamp: stamp, at: now)
        }
    }

    var now: WallTime {
        let (machine, now) = (machineClock(), Instant.now())
        return clusterClock.withLock { clock in
            clock.observe(machineTime: machine.milliseconds, at: now)
            return clock.time(at: now)
        } ?? machine
    }
}
