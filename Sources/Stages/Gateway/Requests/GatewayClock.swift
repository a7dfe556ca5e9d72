internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The cluster's time, by the broker's timestamps in acknowledgements. The planner uses the same time, so both agree
/// about deadlines. Until the first acknowledgement it is the machine's time. Any thread may call it.
final class GatewayClock: Sendable {
    private let clusterClock = TracedLock(ClusterClock(now: .now()))
    private let machineClock: @Sendable () -> WallTime

    init(machineClock: @escaping @Sendable () -> WallTime = { .now() }) { self.machineClock = machineClock }

    /// - Parameter stamp: The timestamp of an acknowledged record, in milliseconds since 1970.
    func observe(stamp: Int64) {
        let (machineTime, instant) = (machineClock(), Instant.now())
        clusterClock.withLock { clock in
            clock.observe(machineTime: machineTime.milliseconds, at: instant)
            clock.observe(stamp: stamp, at: instant)
        }
    }

    /// The cluster's time now.
    var now: WallTime {
        let (machineTime, instant) = (machineClock(), Instant.now())
        return clusterClock.withLock { clock in
            clock.observe(machineTime: machineTime.milliseconds, at: instant)
            return clock.time(at: instant)
        } ?? machineTime
    }
}
