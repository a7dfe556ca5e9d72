package import Jobs

/// The result of one simulated history of senders: a fan-out, a cluster, APNs, and sender processes that are killed,
/// stop and exchange lanes. Equal seeds give equal histories.
package struct SenderHistory {
    /// Descriptions of the rules that the sender's plan broke.
    package let violations: [String]
    /// The outcomes that occurred in receipts.
    package let outcomes: Set<ReceiptOutcome>

    /// The kind of a history: the jobs of the fan-out, and the faults beside kills and stops.
    package enum Kind: Sendable {
        /// All kinds of jobs, with faults of an app and of the network.
        case mixed
        /// Most jobs are replaced before they are pushed, and event loops stall, as on a loaded machine. When the
        /// faults have ended, every job must have its final receipt soon.
        case overtaken
    }

    /// The number of steps with random events. Further steps follow until all work is done.
    private static let stepCount = 60

    /// Runs the history.
    ///
    /// - Parameters:
    ///   - hasKillsAndStops: Whether processes are killed, and stopped for a while.
    ///   - usesRealPools: Whether pushes go through the production's connection pools.
    package init(seed: UInt64, kind: Kind = .mixed, hasKillsAndStops: Bool, usesRealPools: Bool = false) {
        let simulation = SenderSimulation(
            seed: seed, kind: kind, hasKillsAndStops: hasKillsAndStops, usesRealPools: usesRealPools)
        for _ in 0..<Self.stepCount where simulation.violations.isEmpty { simulation.step() }
        if simulation.violations.isEmpty { simulation.settle() }
        (violations, outcomes) = (simulation.violations, simulation.outcomes)
    }
}
