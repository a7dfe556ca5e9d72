internal import Kafka
internal import Lifecycle

/// What this loop knows of a partition and the view does not yet: looked at first.
///
/// Committed rows leave when the view has read them back; they are counted, because one key can be
/// committed again before its first record has come back. Repeated rows differ from what was committed
/// in times alone: the topic does not get them, and the view is handed them from here.
struct Overlay<State> {
    /// A row that the topic compacted away before it was read never comes back. Then the view, which
    /// has been to the end since, knows better.
    static var forgottenAfterMilliseconds: Int { 60_000 }
    /// How often it is looked for such rows.
    static var lookMilliseconds: Int { 1000 }

    private struct Row {
        var state: State
        var since: Instant
        /// Records of it that the view is still to read.
        var outstanding = 0
        /// The state has later times than the newest record.
        var isRepeated = false

        /// - Returns: whether it was not repeated before.
        mutating func `repeat`(_ state: State) -> Bool {
            self.state = state
            defer { isRepeated = true }
            return !isRepeated
        }

        /// - Returns: what it was before.
        mutating func commit(_ state: State, at now: Instant) -> (isOutstanding: Bool, isRepeated: Bool) {
            let before = (outstanding > 0, isRepeated)
            (self.state, since, isRepeated) = (state, now, false)
            outstanding += 1
            return before
        }
    }

    private var rows: [KeyBytes: Row] = [:]
    /// Rows that the view is still to read, and rows that were repeated; one can be both.
    private(set) var count = 0
    private(set) var repeatedCount = 0
    private var nextLook: Instant?

    subscript(key: KeyBytes) -> State? { rows[key]?.state }

    /// - Parameter state: what stands for the key, with the exact times of a repetition.
    mutating func repeated(_ key: KeyBytes, _ state: State, at now: Instant) {
        if rows[key, default: Row(state: state, since: now)].repeat(state) { repeatedCount += 1 }
    }

    /// Gives away what was repeated. What was repeated of a row that the view is still to read back stays:
    /// that row would undo it there.
    mutating func takeRepeated(_ each: (_ key: KeyBytes, _ state: State) -> Void) {
        if repeatedCount == 0 { return }
        rows = rows.filter { key, row in
            if row.outstanding > 0 { return true }
            each(key, row.state)
            repeatedCount -= 1
            return false
        }
    }

    mutating func committed(_ key: KeyBytes, _ state: State, at now: Instant) {
        let before = rows[key, default: Row(state: state, since: now)].commit(state, at: now)
        if !before.isOutstanding { count += 1 }
        if before.isRepeated { repeatedCount -= 1 }
    }

    /// A record of this key is in the view.
    mutating func applied(_ key: Span<UInt8>) {
        if count == 0 { return }
        guard let place = rows.index(forKey: KeyBytes([UInt8](copying: key))),
            rows.values[place].outstanding > 0
        else { return }
        rows.values[place].outstanding -= 1
        guard rows.values[place].outstanding == 0 else { return }
        count -= 1
        if !rows.values[place].isRepeated { rows.remove(at: place) }
    }

    /// The view has been to the end of its partition.
    mutating func reachedEnd(at now: Instant) {
        if count == 0 { return }
        if let nextLook, now < nextLook { return }
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        var place = rows.startIndex
        while place != rows.endIndex {
            let row = rows.values[place]
            if row.outstanding > 0, now.milliseconds(since: row.since) >= Self.forgottenAfterMilliseconds {
                rows.values[place].outstanding = 0
                count -= 1
            }
            rows.formIndex(after: &place)
        }
        rows = rows.filter { $0.value.outstanding > 0 || $0.value.isRepeated }
    }

    mutating func removeAll() {
        rows.removeAll()
        (count, repeatedCount) = (0, 0)
    }
}
