/// The position of a reader in a partition, and the gaps between the offsets that it has read.
package struct ReadPosition {
    /// The newest committed offset, at which reading continues; nil for the beginning.
    package private(set) var committed: Int64?
    /// The first offsets after gaps in batches that are not committed. If a gap is still there after a second read, the
    /// topic itself has it: transactions leave gaps.
    private var knownGaps: Set<Int64> = []

    package init() {}

    /// Everything below the offset is committed.
    package mutating func markCommitted(below offset: Int64) {
        committed = offset
        if !knownGaps.isEmpty { knownGaps = knownGaps.filter { $0 >= offset } }
    }

    /// Continues at the offset that the group has committed. Known gaps stay known.
    package mutating func resume(at offset: Int64?) { committed = offset }

    /// Notes the gaps in a batch. Plain writers leave no gaps, so a new gap means that records were skipped on the way.
    /// A second read finds them, or shows that the topic itself has the gap.
    ///
    /// All gaps of a batch are noted at once. If they were noted one by one, two gaps of the topic would cause a start-over
    /// in turns for ever.
    ///
    /// - Returns: the first gap that was not known before.
    package mutating func firstNewGap(in offsets: some Sequence<Int64>) -> Int64? {
        var expected = committed
        var found: Int64?
        for offset in offsets {
            if let expected, offset != expected, knownGaps.insert(offset).inserted { found = found ?? offset }
            expected = offset + 1
        }
        return found
    }
}

/// The positions of a reader in the topics of one partition number.
package struct ReadPositions {
    private var positions: [ReadPosition] = []

    package init() {}

    /// - Parameter topic: the topic's index in the subscription.
    package subscript(topic: Int) -> ReadPosition {
        get { topic < positions.count ? positions[topic] : ReadPosition() }
        set {
            while positions.count <= topic { positions.append(ReadPosition()) }
            positions[topic] = newValue
        }
    }
}
