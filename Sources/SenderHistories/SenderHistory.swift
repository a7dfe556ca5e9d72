package import LiveActivity

/// One history of a fan-out, a cluster, APNs, and processes of senders that die, stop and change places, by its seed.
package struct SenderHistory {
    /// What was wrong, in words.
    package let faults: [String]
    /// What jobs came to.
    package let met: Set<ReceiptOutcome>

    private static let steps = 60

    /// Lives it.
    ///
    /// - Parameter isJoined: pushes go through the pools that are shipped.
    package init(seed: UInt64, mayDie: Bool, isJoined: Bool = false) {
        let world = SenderWorld(seed: seed, mayDie: mayDie, isJoined: isJoined)
        for _ in 0..<Self.steps where world.faults.isEmpty { world.step() }
        if world.faults.isEmpty { world.settle() }
        (faults, met) = (world.faults, world.met)
    }
}
