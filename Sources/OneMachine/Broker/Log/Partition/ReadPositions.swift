/// The positions at which the last few reads of a log ended. A consumer that continues there needs no
/// index.
struct ReadPositions {
    /// The end of a read, which is the place of the next batch.
    private struct ReadEnd {
        var segment: ObjectIdentifier
        var batch: SegmentReader.BatchPosition
    }

    /// Limit for the remembered positions, and so for the consumers of a partition that benefit.
    static let limit = 8

    private var recent: [ReadEnd] = []
    /// The index of the oldest position, once the limit is reached. The next position replaces it.
    private var oldest = 0

    func find(offset: Int64, in segment: Segment) -> SegmentReader.BatchPosition? {
        recent.first { $0.batch.offset == offset && $0.segment == ObjectIdentifier(segment) }?.batch
    }

    mutating func remember(_ batch: SegmentReader.BatchPosition, in segment: Segment) {
        let newest = ReadEnd(segment: ObjectIdentifier(segment), batch: batch)
        guard recent.count == Self.limit else { return recent.append(newest) }
        recent[oldest] = newest
        oldest = (oldest + 1) % Self.limit
    }

    /// Forgets all positions, after a cut or a compaction.
    mutating func removeAll() { self = ReadPositions() }
}
