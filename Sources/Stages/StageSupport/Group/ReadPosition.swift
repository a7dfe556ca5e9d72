/// The position of a reader in a partition, and the gaps between the offsets that it has read.
package struct ReadPosition {
    /// The newest committed offset, at which reading continues; nil for the beginning.
    package private(set) var committed: Int64?
    /// The first offsets after gaps that were seen in uncommitted batches. The consumer may have skipped records there.
    /// If a second read meets a gap again, the topic itself has it: the marker of a transaction takes an offset.
    private var knownGaps: Set<Int64> = []

    package init() {}

    /// Notes that everything below the offset is committed.
    package mutating func markCommitted(below offset: Int64) {
        committed = offset
        if !knownGaps.isEmpty { knownGaps = knownGaps.filter { $0 >= offset } }
    }

    /// Continues at the offset that the group has committed. Known gaps stay known.
    package mutating func resume(at offset: Int64?) { committed = offset }

    /// Notes the gaps in the offsets of a batch. Returns the offset after the first one that was not known before.
    ///
    /// At a new gap the consumer may have skipped records, so the loop reads again. If the gap is there again, it
    /// belongs to the topic. All gaps of a batch are noted at once. Otherwise two gaps of the topic would cause
    /// start-overs without end.
    package mutating func firstNewGap(in offsets: some Sequence<Int64>) -> Int64? {
        var expected = committed
        var firstNewGap: Int64?
        for offset in offsets {
            if let expected, offset != expected, knownGaps.insert(offset).inserted {
                firstNewGap = firstNewGap ?? offset
            }
            expected = offset + 1
        }
        return firstNewGap
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
