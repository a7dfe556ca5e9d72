internal import Lifecycle
internal import Stages
internal import Telemetry

/// What time it is for a gateway: the cluster's, as acknowledgements tell it, since sends are planned by that. Until
/// something was stored it is this machine's own.
final class GatewayClock: Sendable {
    private let state = TracedLock(ClusterClock(now: .now()))
    private let own: @Sendable () -> WallTime

    /// - Parameter own: this machine's.
    init(own: @escaping @Sendable () -> WallTime = { .now() }) { self.own = own }

    func saw(_ stamp: Int64) { state.withLock { $0.saw(stamp, at: .now()) } }

    var now: WallTime { state.withLock { $0.time(at: .now()) } ?? own() }
}
