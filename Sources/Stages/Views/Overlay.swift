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
        let key: KeyBytes
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

    /// By their numbers, side by side: the last moves to where one goes.
    private var rows: [Row] = []
    private var numbers = KeyIndex()
    /// The rows that have later times than the newest record.
    private var repeatedKeys: Set<KeyBytes> = []
    /// Rows that the view is still to read.
    package private(set) var count = 0
    /// Of all keys and records.
    package private(set) var bytes = 0
    private var nextLook: Instant?

    package init() {}

    package var repeatedCount: Int { repeatedKeys.count }

    package subscript(key: KeyBytes) -> [UInt8]? { number(of: key).map { rows[$0].record } }

    /// - Parameter record: what stands for the key, with the exact times of a repetition.
    package mutating func repeated(_ key: KeyBytes, _ record: [UInt8], at now: Instant) {
        let number = number(ofNew: key, at: now)
        bytes += record.count - rows[number].record.count
        rows[number].record = record
        repeatedKeys.insert(key)
    }

    /// Gives away what was repeated. What was repeated of a row that the view is still to read back stays:
    /// that row would undo it there.
    package mutating func takeRepeated(_ each: (_ key: KeyBytes, _ record: [UInt8]) -> Void) {
        repeatedKeys = repeatedKeys.filter { key in
            guard let number = number(of: key), rows[number].outstanding == 0 else { return true }
            each(key, rows[number].record)
            forget(number)
            return false
        }
    }

    package mutating func committed(_ key: KeyBytes, _ record: [UInt8], at now: Instant) {
        let number = number(ofNew: key, at: now)
        bytes += record.count - rows[number].record.count
        if rows[number].commit(record, at: now) == 1 { count += 1 }
        if !repeatedKeys.isEmpty { repeatedKeys.remove(key) }
    }

    /// Every row, in no order.
    package func each(_ body: (_ key: KeyBytes, _ record: [UInt8]) -> Void) {
        for row in rows { body(row.key, row.record) }
    }

    /// A record of this key is in the view.
    ///
    /// One that is not outstanding is of a transaction whose outcome this loop does not know yet, and it has
    /// happened. What was repeated before it is older than what the view has now, and must not go there.
    package mutating func applied(_ key: Span<UInt8>) {
        guard let number = number(of: key) else { return }
        guard rows[number].outstanding > 0 else {
            repeatedKeys.remove(rows[number].key)
            return forget(number)
        }
        rows[number].outstanding -= 1
        guard rows[number].outstanding == 0 else { return }
        count -= 1
        if !isRepeated(number) { forget(number) }
    }

    /// The view has been to the end of its partition.
    package mutating func reachedEnd(at now: Instant) {
        if count == 0 { return }
        if let nextLook, now < nextLook { return }
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        for number in rows.indices.reversed() where rows[number].outstanding > 0 {
            let age = now.milliseconds(since: rows[number].since)
            guard age >= Self.forgottenAfterMilliseconds else { continue }
            count -= 1
            rows[number].outstanding = 0
            if !isRepeated(number) { forget(number) }
        }
    }

    package mutating func removeAll() {
        (rows, numbers) = ([], KeyIndex())
        repeatedKeys.removeAll()
        (count, bytes, nextLook) = (0, 0, nil)
    }

    // MARK: Numbers

    private func number(of key: KeyBytes) -> Int? { numbers.number(key.hash) { rows[$0].key == key } }

    private func number(of key: Span<UInt8>) -> Int? {
        if rows.isEmpty { return nil }
        let hash = KeyBytes.hash(of: key)
        return unsafe key.withUnsafeBytes { key in
            numbers.number(hash) { unsafe rows[$0].key.holds(key) }
        }
    }

    /// That of a row without a record where there was none.
    private mutating func number(ofNew key: KeyBytes, at now: Instant) -> Int {
        if let number = number(of: key) { return number }
        numbers.insert(rows.count, key.hash)
        rows.append(Row(key: key, record: [], since: now))
        bytes += key.bytes.count
        return rows.count - 1
    }

    private func isRepeated(_ number: Int) -> Bool {
        !repeatedKeys.isEmpty && repeatedKeys.contains(rows[number].key)
    }

    private mutating func forget(_ number: Int) {
        let last = rows.count - 1
        numbers.remove(number, rows[number].key.hash)
        if number < last {
            numbers.renumber(last, to: number, rows[last].key.hash)
            rows.swapAt(number, last)
        }
        let row = rows.removeLast()
        bytes -= row.key.bytes.count + row.record.count
        if rows.isEmpty, rows.capacity > Self.roomMax { (rows, numbers) = ([], KeyIndex()) }
    }
}
