/// Where the last few reads ended: a consumer that goes on reading needs no index.
struct ReadPositions {
    struct Position {
        var offset: Int64
        var segment: ObjectIdentifier
        var position: Int
    }

    /// Readers of one partition that are remembered; the oldest gives way.
    static let limit = 8

    private var known: [Position] = []
    private var oldest = 0

    func find(_ offset: Int64, segment: Segment) -> Position? {
        known.first { $0.offset == offset && $0.segment == ObjectIdentifier(segment) }
    }

    mutating func remember(_ offset: Int64, segment: Segment, position: Int) {
        let entry = Position(offset: offset, segment: ObjectIdentifier(segment), position: position)
        guard known.count == Self.limit else { return known.append(entry) }
        known[oldest] = entry
        oldest = (oldest + 1) % Self.limit
    }

    /// Offsets stay, positions do not: after a cut or a compaction.
    mutating func forget() { self = ReadPositions() }
}
