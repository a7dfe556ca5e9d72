internal import Kafka
internal import Lifecycle

/// What this loop has committed to a partition and not yet read back from it: newer than the view, and
/// looked at first. Rows leave when the view has them; they are counted, because one key can be
/// committed again before its first record has come back.
struct Overlay<State> {
    /// A row that the topic compacted away before it was read never comes back. Then the view, which
    /// has been to the end since, knows better.
    static var forgottenAfterMilliseconds: Int { 60_000 }

    private struct Row {
        var state: State
        var outstanding: Int
        var since: Instant
    }

    private var rows: [[UInt8]: Row] = [:]

    var count: Int { rows.count }

    subscript(key: [UInt8]) -> State? { rows[key]?.state }

    mutating func committed(_ key: [UInt8], _ state: State, at now: Instant) {
        rows[key] = Row(state: state, outstanding: (rows[key]?.outstanding ?? 0) + 1, since: now)
    }

    /// A record of this key is in the view.
    mutating func applied(_ key: Span<UInt8>) {
        if rows.isEmpty { return }
        let key = [UInt8](copying: key)
        guard var row = rows[key] else { return }
        row.outstanding -= 1
        rows[key] = row.outstanding > 0 ? row : nil
    }

    /// The view has been to the end of its partition.
    mutating func reachedEnd(at now: Instant) {
        guard !rows.isEmpty else { return }
        rows = rows.filter { now.milliseconds(since: $0.value.since) < Self.forgottenAfterMilliseconds }
    }

    mutating func removeAll() { rows.removeAll() }
}
