/// The ends of the last few reads, so that a consumer that reads on needs no index.
struct ReadPositions {
    struct ReadPosition {
        var offset: Int64
        var segment: ObjectIdentifier
        var position: Int
    }

    /// Limit for the remembered readers of a partition.
    static let limit = 8

    private var known: [ReadPosition] = []
    private var oldest = 0

    func find(offset: Int64, segment: Segment) -> ReadPosition? {
        known.first { $0.offset == offset && $0.segment == ObjectIdentifier(segment) }
    }

    mutating func remember(offset: Int64, segment: Segment, position: Int) {
        let entry = ReadPosition(offset: offset, segment: ObjectIdentifier(segment), position: position)
        guard known.count == Self.limit else { return known.append(entry) }
        known[oldest] = entry
        oldest = (oldest + 1) % Self.limit
    }

    /// Forgets all positions, after a cut or a compaction.
    mutating func removeAll() { self = ReadPositions() }
}
