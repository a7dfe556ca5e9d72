package import Lifecycle
internal import Stages
internal import Telemetry

/// What time it is for a sender: the cluster's, as what the sender stored was stamped. By that clock jobs were given
/// their deadlines, and this machine's has no say in them.
///
/// Before anything was stored there are only the stamps of what was read. Those have passed, and nobody knows how long
/// ago: what must not be too early goes by them, and what needs a date takes this machine's for it.
package struct SenderClock: Sendable {
    private var stored: ClusterClock
    /// The cluster's time less the steady clock, at least, as what was read tells it; milliseconds.
    private var least: Int64?

    package init(now: Instant) { stored = ClusterClock(now: now) }

    /// Looks at the machine's clock, in milliseconds since 1970.
    package mutating func tick(machine: Int64, at now: Instant) { stored.tick(machine: machine, at: now) }

    /// The cluster has just stored something.
    package mutating func stored(_ stamp: Int64, at now: Instant) { stored.saw(stamp, at: now) }

    /// The cluster stored this some time ago.
    package mutating func read(_ stamp: Int64, at now: Instant) {
        guard ClusterClock.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        least = max(least ?? difference, difference)
    }

    /// Milliseconds since 1970.
    ///
    /// - Parameter machine: the same by this machine's clock.
    package func time(by machine: Int64, at now: Instant) -> Int64 {
        stored.time(at: now)?.milliseconds ?? max(machine, least(at: now) ?? machine)
    }

    /// Milliseconds since 1970 that have surely passed: nothing expires before.
    package func passed(by machine: Int64, at now: Instant) -> Int64 {
        stored.time(at: now)?.milliseconds ?? min(machine, least(at: now) ?? 0)
    }

    /// The newest stamp that was read, and what has gone by since; nil before there was one.
    package func least(at now: Instant) -> Int64? { least.map { $0 + Self.steady(now) } }

    private static func steady(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }
}
