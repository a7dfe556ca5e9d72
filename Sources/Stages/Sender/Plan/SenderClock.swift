package import Lifecycle
internal import StageSupport
internal import Telemetry

/// The clock of the cluster, as a sender knows it from the stamps of records: the times that brokers write into them.
/// The same clock gave the jobs their deadlines, so this machine's clock must not decide whether they have passed.
///
/// The stamps of records that this sender stored give the time. Before the first record is stored, there are only
/// stamps of records that were read. Those times have passed, but it is unknown how long ago. Until then `passed`
/// uses the earlier of these and this machine's clock, because nothing may expire too early, and `time` uses the
/// later one.
package struct SenderClock: Sendable {
    /// The clock by the stamps of records that this sender stored.
    private var clockOfStored: ClusterClock
    /// Lower bound of the cluster's time, from records that were read. It is kept as milliseconds since 1970 minus the
    /// steady clock's milliseconds, so that it advances with the steady clock.
    private var lowerBoundOffset: Int64?

    package init(now: Instant) { clockOfStored = ClusterClock(now: now) }

    /// Observes the machine's clock, in milliseconds since 1970.
    package mutating func tick(machine: Int64, at now: Instant) {
        clockOfStored.observe(machineTime: machine, at: now)
    }

    /// Notes the stamp of a record that the cluster has just stored.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func stored(_ stamp: Int64, at now: Instant) {
        clockOfStored.observe(stamp: stamp, at: now)
    }

    /// Notes the stamp of a record that the cluster stored some time ago.
    package mutating func read(_ stamp: Int64, at now: Instant) {
        guard ClusterClock.validStamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        lowerBoundOffset = max(lowerBoundOffset ?? offset, offset)
    }

    /// Returns the time in milliseconds since 1970.
    ///
    /// - Parameter machine: the time of this machine's clock, in milliseconds since 1970.
    package func time(by machine: Int64, at now: Instant) -> Int64 {
        if let time = clockOfStored.time(at: now) { return time.milliseconds }
        return max(machine, lowerBound(at: now) ?? machine)
    }

    /// Returns the time that has surely passed, in milliseconds since 1970. Deadlines before it have passed.
    ///
    /// - Parameter machine: the time of this machine's clock, in milliseconds since 1970.
    package func passed(by machine: Int64, at now: Instant) -> Int64 {
        if let time = clockOfStored.time(at: now) { return time.milliseconds }
        // Before a record is read, nothing has surely passed.
        return min(machine, lowerBound(at: now) ?? 0)
    }

    /// Returns the newest stamp that was read plus the time since then; nil before the first one.
    package func lowerBound(at now: Instant) -> Int64? { lowerBoundOffset.map { $0 + now.milliseconds } }
}
