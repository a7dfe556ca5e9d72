/// The positions at which the last few reads of a log ended. A consumer that continues there needs no
/// index.
struct ReadPositions {
    /// The place of a batch in a segment's file.
    struct ReadPosition {
        var offset: Int64
        var segment: ObjectIdentifier
        var position: Int
    }

    /// Limit for the remembered positions, and so for the consumers of a partition that benefit.
    static let limit = 8

    private var recent: [ReadPosition] = []
    /// The index of the oldest position, once the limit is reached. The next position replaces it.
    private var oldest = 0

    func find(offset: Int64, segment: Segment) -> ReadPosition? {
        recent.first { $0.offset == offset && $0.segment == ObjectIdentifier(segment) }
    }

    mutating func remember(offset: Int64, segment: Segment, position: Int) {
        let newest = ReadPosition(offset: offset, segment: ObjectIdentifier(segment), position: position)
        guard recent.count == Self.limit else { return recent.append(newest) }
        recent[oldest] = newest
        oldest = (oldest + 1) % Self.limit
    }

    /// Forgets all positions, after a cut or a compaction.
    mutating func removeAll() { self = ReadPositions() }
}
