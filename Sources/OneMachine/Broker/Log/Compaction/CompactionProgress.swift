/// The times at which each part of a compacted log was first compacted. Tombstones and transaction
/// markers stay for a grace time after that, so that a slow reader still sees them.
struct CompactionProgress: Equatable {
    /// The part of the log up to an offset.
    struct CompactedRange: Equatable {
        /// The first offset that the pass did not compact.
        var offset: Int64
        /// Time of the pass by the expiry clock, in milliseconds since 1970.
        var time: Int64
    }

    /// Limit for the remembered passes. Beyond it, the newest but one is forgotten. Its part then counts as compacted by
    /// the next pass, which can only delay a removal.
    static let rangesMax = 64

    /// In the order of offsets and times.
    private(set) var ranges: [CompactedRange] = []

    /// The first offset that no pass has compacted.
    var firstDirty: Int64 { ranges.last?.offset ?? 0 }

    /// Returns the offset below which tombstones and markers have had their grace time (milliseconds).
    func removableBelow(now: Int64, grace: Int64) -> Int64 {
        ranges.last { $0.time <= now &- grace }?.offset ?? 0
    }

    /// Adds a pass. Of the ranges whose grace time is over, only the last is kept.
    mutating func recordPass(upTo offset: Int64, at time: Int64, grace: Int64) {
        let lastExpired = ranges.lastIndex { $0.time <= time &- grace } ?? 0
        if lastExpired > 0 { ranges.removeFirst(lastExpired) }
        if let last = ranges.last, offset <= last.offset { return }
        if ranges.count == Self.rangesMax { ranges.remove(at: ranges.count - 2) }
        ranges.append(CompactedRange(offset: offset, time: time))
    }

    /// Forgets the part of the log that was cut off.
    mutating func truncate(to offset: Int64) {
        while let last = ranges.last, last.offset > offset {
            ranges.removeLast()
            // The range in which the log was cut keeps its part below the cut.
            let beginsBelowCut = ranges.last.map { $0.offset < offset } ?? true
            if beginsBelowCut {
                ranges.append(CompactedRange(offset: offset, time: last.time))
                return
            }
        }
    }

    init() {}

    func write(to writer: inout WireWriter) {
        writer.array(ranges) { writer, range in
            writer.int64(range.offset)
            writer.int64(range.time)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        ranges = try reader.array { (reader) throws(WireError) in
            CompactedRange(offset: try reader.int64(), time: try reader.int64())
        }
    }
}
