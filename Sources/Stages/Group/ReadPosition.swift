/// How far a partition was read, and whether anything was skipped on the way to us.
package struct ReadPosition {
    /// The newest offset that was committed: where records are read on. Nil: from the beginning.
    package private(set) var committed: Int64?
    /// The offsets behind gaps that were found in a batch that is not committed yet. Those that reading
    /// again does not close are the topic's own: who writes it in transactions leaves them.
    private var knownGaps: Set<Int64> = []

    package init() {}

    /// Everything below the offset is committed.
    package mutating func reached(_ offset: Int64) {
        committed = offset
        if !knownGaps.isEmpty { knownGaps = knownGaps.filter { $0 >= offset } }
    }

    /// The newest word of the group; what is known of gaps stays.
    package mutating func begin(at offset: Int64?) { committed = offset }

    /// Plain writers leave no gaps between offsets. Where one shows, something was skipped on the way to us, and
    /// reading again finds it; a gap that is still there then is the topic's own.
    ///
    /// All of a batch at once: known one by one, two of the topic's own would take turns for ever.
    ///
    /// - Returns: the first that was not known before.
    package mutating func newGap(in offsets: some Sequence<Int64>) -> Int64? {
        var wanted = committed
        var found: Int64?
        for offset in offsets {
            if let wanted, offset != wanted, knownGaps.insert(offset).inserted { found = found ?? offset }
            wanted = offset + 1
        }
        return found
    }
}
