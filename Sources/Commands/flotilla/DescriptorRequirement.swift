internal import Lifecycle
internal import StageSupport

/// The number of file descriptors that a process needs at most, apart from the connections of the gateway's
/// callers and of the sender to APNs.
struct DescriptorRequirement {
    /// The log, the catalog, the table of members, the admin server, and some connections.
    private static let sharedCount = 160
    /// The open segments of the embedded broker, its listener and its lock.
    private static let brokerCount = 160
    /// The listeners of the simulator, and the connections of its phones.
    private static let demonstrationCount = 64

    let total: Int

    init(stages: [StageKind], lanes: Int, hasBroker: Bool = false, isDemo: Bool = false) {
        total =
            stages.reduce(Self.sharedCount) { $0 + $1.descriptors.count(lanes: lanes) }
            + (hasBroker ? Self.brokerCount : 0) + (isDemo ? Self.demonstrationCount : 0)
    }

    /// Throws if the limit of this process is lower. `main` has raised it as far as possible.
    func verifyLimit() throws {
        guard let reason = DescriptorLimit.current?.shortage(needed: total) else { return }
        throw CommandError(status: .configuration, reason)
    }
}
