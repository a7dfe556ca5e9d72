package import Lifecycle
internal import StageSupport
internal import Telemetry

/// The clock of the cluster, as a sender knows it from the stamps of records: the times that brokers write into them.
/// The same clock gave the jobs their deadlines, so this machine's clock must not decide whether they have passed.
///
/// Once this sender has stored a record, the stamps of the stored records give the time. Before that there are only stamps
/// of records that were read. These times have passed, but it is unknown how long ago. So the clock has two answers,
/// which differ until the first record is stored:
///
/// | answer | before the first record is stored | use |
/// |---|---|---|
/// | `estimatedTime` | the later one of this machine's time and the newest stamp that was read, plus the time since then | the times in our records |
/// | `latestPassedTime` | the earlier one of the two | deadlines, because no job may expire too early |
package struct SenderClock: Sendable {
    /// The clock by the stamps of records that this sender stored.
    private var clockOfStored: ClusterClock
    /// Lower bound of the cluster's time, from records that were read. It is kept as milliseconds since 1970 minus the
    /// steady clock's milliseconds, so that it advances with the steady clock.
    private var lowerBoundOffset: Int64?

    package init(now: Instant) { clockOfStored = ClusterClock(now: now) }

    /// Observes the machine's clock, in milliseconds since 1970.
    package mutating func noteMachineTime(_ machineTime: Int64, at now: Instant) {
        clockOfStored.observe(machineTime: machineTime, at: now)
    }

    /// Notes the stamp of a record that the cluster has just stored.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func noteStored(stamp: Int64, at now: Instant) {
        clockOfStored.observe(stamp: stamp, at: now)
    }

    /// Notes the stamp of a record that was read. The cluster stored the record some time ago.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func noteRead(stamp: Int64, at now: Instant) {
        guard ClusterClock.validStamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        lowerBoundOffset = max(lowerBoundOffset ?? offset, offset)
    }

    /// Returns the best estimate of the cluster's time, in milliseconds since 1970.
    ///
    /// - Parameter machineTime: the time of this machine's clock, in milliseconds since 1970.
    package func estimatedTime(machineTime: Int64, at now: Instant) -> Int64 {
        if let time = clockOfStored.time(at: now) { return time.milliseconds }
        return max(machineTime, lowerBound(at: now) ?? machineTime)
    }

    /// Returns the latest time that has surely passed in the cluster, in milliseconds since 1970. Deadlines before it
    /// have passed.
    ///
    /// - Parameter machineTime: the time of this machine's clock, in milliseconds since 1970.
    package func latestPassedTime(machineTime: Int64, at now: Instant) -> Int64 {
        if let time = clockOfStored.time(at: now) { return time.milliseconds }
        // Before a record is read, only the beginning of 1970 has surely passed, so no deadline has.
        return min(machineTime, lowerBound(at: now) ?? 0)
    }

    /// Returns the newest stamp that was read plus the time since then; nil before the first one.
    package func lowerBound(at now: Instant) -> Int64? { lowerBoundOffset.map { $0 + now.milliseconds } }
}
