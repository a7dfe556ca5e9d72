package import Jobs

/// One simulated history from a seed: a fan-out, a cluster, APNs, and sender processes that die, stop and
/// exchange lanes.
package struct SenderHistory {
    /// Descriptions of the faults that were found.
    package let faults: [String]
    /// Outcomes of jobs that occurred.
    package let outcomes: Set<ReceiptOutcome>

    private static let steps = 60

    /// Runs the history.
    ///
    /// - Parameter isJoined: whether pushes go through the real connection pools.
    package init(seed: UInt64, mayDie: Bool, usesRealPools: Bool = false) {
        let world = SenderSimulation(seed: seed, mayDie: mayDie, usesRealPools: usesRealPools)
        for _ in 0..<Self.steps where world.faults.isEmpty { world.step() }
        if world.faults.isEmpty { world.settle() }
        (faults, outcomes) = (world.faults, world.outcomes)
    }
}
