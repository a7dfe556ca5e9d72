/// The times at which each part of a compacted log was first compacted. Tombstones and transaction
/// markers stay for a grace time after that, so that a slow reader still sees them.
struct CleanedUpTo: Equatable {
    struct Pass: Equatable {
        /// The pass compacted all offsets below this one.
        var offset: Int64
        /// Time of the pass by the expiry clock, in milliseconds since 1970.
        var time: Int64
    }

    /// Limit for the remembered passes. Beyond it, the second newest is forgotten, which can delay a
    /// removal and never hastens one.
    static let passesMax = 64

    private(set) var passes: [Pass] = []

    /// The first offset that no pass has compacted.
    var firstDirty: Int64 { passes.last?.offset ?? 0 }

    /// Returns the offset below which tombstones and markers have had their grace time.
    func removable(now: Int64, grace: Int64) -> Int64 {
        passes.last { $0.time <= now &- grace }?.offset ?? 0
    }

    mutating func cleaned(upTo offset: Int64, at time: Int64, grace: Int64) {
        let expired = passes.lastIndex { $0.time <= time &- grace } ?? 0
        if expired > 0 { passes.removeFirst(expired) }
        if let last = passes.last, offset <= last.offset { return }
        if passes.count == Self.passesMax { passes.remove(at: passes.count - 2) }
        passes.append(Pass(offset: offset, time: time))
    }

    /// Forgets the part of the log that was cut off.
    mutating func truncate(to offset: Int64) {
        while let last = passes.last, last.offset > offset {
            passes.removeLast()
            if last.offset > offset, passes.last.map({ $0.offset < offset }) ?? true {
                passes.append(Pass(offset: offset, time: last.time))
                return
            }
        }
    }

    init() {}

    func write(to writer: inout WireWriter) {
        writer.array(passes) { writer, pass in
            writer.int64(pass.offset)
            writer.int64(pass.time)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        passes = try reader.array { (reader) throws(WireError) in
            Pass(offset: try reader.int64(), time: try reader.int64())
        }
    }
}
