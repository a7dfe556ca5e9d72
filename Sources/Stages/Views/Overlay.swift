internal import Kafka
package import Lifecycle

/// What this loop knows of a partition and the view does not yet: looked at first.
///
/// Committed rows leave when the view has read them back; they are counted, because one key can be
/// committed again before its first record has come back. Repeated rows differ from what was committed
/// in times alone: the topic does not get them, and the view is handed them from here.
///
/// It has records as the topic has them. As values they would be a dozen small objects each, of thousands
/// of installations, that nobody asks for again before they go.
package struct Overlay {
    /// A row that the topic compacted away before it was read never comes back. Then the view, which
    /// has been to the end since, knows better.
    package static let forgottenAfterMilliseconds = 60_000
    /// How often it is looked for such rows.
    package static let lookMilliseconds = 1000

    /// Room for so many rows is kept when all have gone; a loop has an overlay for each partition.
    private static let roomMax = 4096

    private struct Row {
        var record: [UInt8]
        var since: Instant
        /// Records of it that the view is still to read.
        var outstanding = 0

        /// - Returns: how many records of it are outstanding now.
        mutating func commit(_ record: [UInt8], at now: Instant) -> Int {
            (self.record, since) = (record, now)
            outstanding += 1
            return outstanding
        }
    }

    private var rows: [KeyBytes: Row] = [:]
    /// The rows that have later times than the newest record.
    private var repeatedKeys: Set<KeyBytes> = []
    /// Rows that the view is still to read.
    package private(set) var count = 0
    /// Of all keys and records.
    package private(set) var bytes = 0
    private var nextLook: Instant?

    package init() {}

    package var repeatedCount: Int { repeatedKeys.count }

    package subscript(key: KeyBytes) -> [UInt8]? { rows[key]?.record }

    /// - Parameter record: what stands for the key, with the exact times of a repetition.
    package mutating func repeated(_ key: KeyBytes, _ record: [UInt8], at now: Instant) {
        _ = put(record, under: key, at: now) { row in
            row.record = record
            return 0
        }
        repeatedKeys.insert(key)
    }

    /// Gives away what was repeated. What was repeated of a row that the view is still to read back stays:
    /// that row would undo it there.
    package mutating func takeRepeated(_ each: (_ key: KeyBytes, _ record: [UInt8]) -> Void) {
        repeatedKeys = repeatedKeys.filter { key in
            guard let row = rows[key], row.outstanding == 0 else { return true }
            each(key, row.record)
            forget(key)
            return false
        }
    }

    package mutating func committed(_ key: KeyBytes, _ record: [UInt8], at now: Instant) {
        let outstanding = put(record, under: key, at: now) { $0.commit(record, at: now) }
        if outstanding == 1 { count += 1 }
        if !repeatedKeys.isEmpty { repeatedKeys.remove(key) }
    }

    /// Every row, in no order.
    package func each(_ body: (_ key: KeyBytes, _ record: [UInt8]) -> Void) {
        for (key, row) in rows { body(key, row.record) }
    }

    /// - Parameter change: of the row, which has an empty record where it is new.
    private mutating func put(
        _ record: [UInt8], under key: KeyBytes, at now: Instant, _ change: (inout Row) -> Int
    ) -> Int {
        let before = rows.count
        var replaced = 0
        func changeRow(_ row: inout Row) -> Int {
            replaced = row.record.count
            return change(&row)
        }
        let result = changeRow(&rows[key, default: Row(record: [], since: now)])
        bytes += record.count - replaced
        if rows.count > before { bytes += key.bytes.count }
        return result
    }

    private mutating func forget(_ key: KeyBytes) {
        if let index = rows.index(forKey: key) { forget(at: index) }
    }

    private mutating func forget(at index: Dictionary<KeyBytes, Row>.Index) {
        let (key, row) = rows.remove(at: index)
        bytes -= key.bytes.count + row.record.count
        if rows.isEmpty, rows.capacity > Self.roomMax { rows = [:] }
    }

    /// A record of this key is in the view.
    ///
    /// One that is not outstanding is of a transaction whose outcome this loop does not know yet, and it has
    /// happened. What was repeated before it is older than what the view has now, and must not go there.
    package mutating func applied(_ key: Span<UInt8>) {
        if rows.isEmpty { return }
        let key = KeyBytes([UInt8](copying: key))
        guard let place = rows.index(forKey: key) else { return }
        guard rows.values[place].outstanding > 0 else {
            repeatedKeys.remove(key)
            return forget(at: place)
        }
        rows.values[place].outstanding -= 1
        guard rows.values[place].outstanding == 0 else { return }
        count -= 1
        if !repeatedKeys.contains(key) { forget(at: place) }
    }

    /// The view has been to the end of its partition.
    package mutating func reachedEnd(at now: Instant) {
        if count == 0 { return }
        if let nextLook, now < nextLook { return }
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        let lost = rows.filter { _, row in
            row.outstanding > 0 && now.milliseconds(since: row.since) >= Self.forgottenAfterMilliseconds
        }
        for key in lost.keys {
            count -= 1
            rows[key]?.outstanding = 0
            if !repeatedKeys.contains(key) { forget(key) }
        }
    }

    package mutating func removeAll() {
        rows.removeAll()
        repeatedKeys.removeAll()
        (count, bytes, nextLook) = (0, 0, nil)
    }
}
