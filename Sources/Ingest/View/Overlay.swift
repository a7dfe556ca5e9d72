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

    private struct Row {
        var state: State
        var outstanding: Int
        var since: Instant
    }

    private var rows: [KeyBytes: Row] = [:]
    private var repeated: [KeyBytes: State] = [:]

    var count: Int { rows.count }
    var repeatedCount: Int { repeated.count }

    subscript(key: KeyBytes) -> State? { repeated[key] ?? rows[key]?.state }

    /// - Parameter state: what stands for the key, with the exact times of a repetition.
    mutating func repeated(_ key: KeyBytes, _ state: State) { repeated[key] = state }

    /// Gives away what was repeated. What was repeated of a row that the view is still to read back stays:
    /// that row would undo it there.
    mutating func takeRepeated(_ each: (_ key: KeyBytes, _ state: State) -> Void) {
        repeated = repeated.filter { key, state in
            if rows[key] != nil { return true }
            each(key, state)
            return false
        }
    }

    mutating func committed(_ key: KeyBytes, _ state: State, at now: Instant) {
        repeated[key] = nil
        rows[key] = Row(state: state, outstanding: (rows[key]?.outstanding ?? 0) + 1, since: now)
    }

    /// A record of this key is in the view.
    mutating func applied(_ key: Span<UInt8>) {
        if rows.isEmpty { return }
        let key = KeyBytes([UInt8](copying: key))
        guard var row = rows[key] else { return }
        row.outstanding -= 1
        rows[key] = row.outstanding > 0 ? row : nil
    }

    /// The view has been to the end of its partition.
    mutating func reachedEnd(at now: Instant) {
        guard !rows.isEmpty else { return }
        rows = rows.filter { now.milliseconds(since: $0.value.since) < Self.forgottenAfterMilliseconds }
    }

    mutating func removeAll() {
        rows.removeAll()
        repeated.removeAll()
    }
}
