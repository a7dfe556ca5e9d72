internal import Lifecycle

/// The `FreshnessHistory` of a process, which queries share.
final class FreshnessLog: Sendable {
    private let history = TracedLock(FreshnessHistory())

    func add(_ sample: FreshnessHistory.Sample, of app: String, groupsBehind: Set<String>) {
        history.withLock { $0.add(sample, of: app, groupsBehind: groupsBehind) }
    }

    func keep(onlyApps ids: Set<String>) { history.withLock { $0.keep(onlyApps: ids) } }

    /// Returns a copy for one answer.
    var current: FreshnessHistory { history.withLock { $0 } }
}
