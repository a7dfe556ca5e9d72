/// When which part of a compacted log was first compacted: tombstones and transaction markers go
/// only after their grace time has passed since then, so that a reader under way still meets them.
struct CleanedUpTo: Equatable {
    struct Pass: Equatable {
        /// Everything below was compacted.
        var offset: Int64
        /// Wall clock, ms.
        var time: Int64
    }

    /// Passes remembered; of more, the second newest goes, which delays a removal and never hastens it.
    static let passesMax = 64

    private(set) var passes: [Pass] = []

    /// Where the part begins that no pass has seen.
    var firstDirty: Int64 { passes.last?.offset ?? 0 }

    /// Below this offset, what was only kept for its grace may go.
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

    /// The log was cut.
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
