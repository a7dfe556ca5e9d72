package import Lifecycle
internal import StageSupport
internal import Telemetry

/// The cluster's clock for a sender. Its source is the stamps of records that the sender stored. The same
/// clock gave the jobs their deadlines, so this machine's clock must not judge them.
///
/// Before the first record is stored, there are only stamps of records that were read. Those times have
/// passed, but it is unknown how long ago. Expiry uses them, because it must not come too early. Anything
/// that needs a date uses this machine's clock.
package struct SenderClock: Sendable {
    private var stored: ClusterClock
    /// Lower bound of the cluster's time minus the steady clock, from records that were read, in
    /// milliseconds.
    private var least: Int64?

    package init(now: Instant) { stored = ClusterClock(now: now) }

    /// Observes the machine's clock, in milliseconds since 1970.
    package mutating func tick(machine: Int64, at now: Instant) { stored.tick(machine: machine, at: now) }

    /// Notes the stamp of a record that the cluster has just stored.
    package mutating func stored(_ stamp: Int64, at now: Instant) { stored.saw(stamp, at: now) }

    /// Notes the stamp of a record that the cluster stored some time ago.
    package mutating func read(_ stamp: Int64, at now: Instant) {
        guard ClusterClock.stamps.contains(stamp) else { return }
        let difference = stamp - now.milliseconds
        least = max(least ?? difference, difference)
    }

    /// Returns the time in milliseconds since 1970.
    ///
    /// - Parameter machine: the time of this machine's clock, in milliseconds since 1970.
    package func time(by machine: Int64, at now: Instant) -> Int64 {
        stored.time(at: now)?.milliseconds ?? max(machine, least(at: now) ?? machine)
    }

    /// Returns the time that has surely passed, in milliseconds since 1970. Nothing expires before it.
    package func passed(by machine: Int64, at now: Instant) -> Int64 {
        stored.time(at: now)?.milliseconds ?? min(machine, least(at: now) ?? 0)
    }

    /// Returns the newest stamp that was read plus the time since then; nil before the first one.
    package func least(at now: Instant) -> Int64? { least.map { $0 + now.milliseconds } }
}
