internal import Lifecycle
internal import StageSupport

/// The number of file descriptors that a process needs at most, apart from the connections of the gateway's
/// callers and of the sender to APNs.
struct DescriptorRequirement {
    /// For every process: the log, the catalog, the reader of the topic `members`, the admin server, and some
    /// connections.
    private static let sharedCount = 160
    /// For the embedded broker: its open segments, its listener and its lock.
    private static let brokerCount = 160
    /// For the demonstration: the listeners of the simulator, and the connections of its phones.
    private static let demonstrationCount = 64

    let total: Int

    init(stages: [StageKind], lanes: Int, hasBroker: Bool = false, isDemo: Bool = false) {
        var total = stages.reduce(Self.sharedCount) { $0 + $1.descriptors.count(lanes: lanes) }
        if hasBroker { total += Self.brokerCount }
        if isDemo { total += Self.demonstrationCount }
        self.total = total
    }

    /// Throws if this process may open fewer. `main` has raised the limit as far as possible.
    func verifyLimit() throws {
        guard let reason = DescriptorLimit.current?.shortage(needed: total) else { return }
        throw CommandError(status: .configuration, reason)
    }
}
