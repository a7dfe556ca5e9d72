internal import Kafka
package import Lifecycle

/// The rows of a partition that this loop knows and its view does not have yet. A lookup asks the overlay before the
/// view. The overlay has two kinds of rows:
///
/// - A committed row leaves when the view has read it back. A key can be committed again before its first record is
///   read back, so the overlay counts the unread records of each row.
/// - A repeated row differs from the committed row only in its times. It is not written to the topic. The view gets it
///   from here.
///
/// The overlay holds the records as encoded for the topic. Decoded values would be a dozen small objects for each of
/// thousands of installations, and most are never read again.
package struct Overlay {
    /// The age from which an unread row counts as lost: the topic has compacted its record away, so the view
    /// never reads it back. When the view has read to the end, its own row is newer, and the lost row is
    /// forgotten.
    package static let unreadMillisecondsMax = 60_000
    /// The interval between two searches for lost rows.
    package static let searchIntervalMilliseconds = 1000

    /// The largest capacity that is kept when all rows have left, in rows. A loop has an overlay for each
    /// partition.
    private static let keptCapacityMax = 4096

    private struct Row {
        let key: HashedKey
        /// Empty for a tombstone.
        var record: [UInt8]
        /// The time of the newest commit.
        var since: Instant
        /// The number of its records that the view has not read yet.
        var unreadRecords = 0

        /// Replaces the record. Returns the number of unread records of the row.
        mutating func commit(_ record: [UInt8], at now: Instant) -> Int {
            (self.record, since) = (record, now)
            unreadRecords += 1
            return unreadRecords
        }
    }

    /// The rows, indexed by number without gaps. If a row is removed, the last row takes its number.
    private var rows: [Row] = []
    private var keyIndex = KeyIndex()
    /// The keys of rows whose times are newer than in their newest record.
    private var repeatedKeys: Set<HashedKey> = []
    /// The number of rows that the view has not read back yet.
    package private(set) var unreadCount = 0
    /// The size of all keys and records.
    package private(set) var byteCount = 0
    private var nextSearch: Instant?

    package init() {}

    package var repeatedCount: Int { repeatedKeys.count }

    /// The newest record of a key, which is empty for a tombstone. Nil if the view has the newest one.
    package subscript(key: HashedKey) -> [UInt8]? { index(of: key).map { rows[$0].record } }

    /// Notes a repetition, which is in no record of the topic.
    ///
    /// - Parameter record: the row with the exact times of the repetition.
    package mutating func recordRepetition(of key: HashedKey, as record: [UInt8], at now: Instant) {
        let number = insertIfNeeded(key, at: now)
        byteCount += record.count - rows[number].record.count
        rows[number].record = record
        repeatedKeys.insert(key)
    }

    /// The keys of the repeated rows that the view can get. A row with unread records stays, because such a
    /// record would overwrite the repeated times in the view.
    package var writableRepeatedKeys: [HashedKey] {
        repeatedKeys.filter { key in index(of: key).map { rows[$0].unreadRecords == 0 } ?? false }
    }

    /// Removes a repeated row, one of `writableRepeatedKeys`, and returns its record. Returns nil if it has left.
    package mutating func takeRepeatedRow(of key: HashedKey) -> [UInt8]? {
        guard repeatedKeys.remove(key) != nil, let number = index(of: key) else { return nil }
        let record = rows[number].record
        removeRow(at: number)
        return record
    }

    /// Notes a committed record.
    package mutating func recordCommit(of key: HashedKey, as record: [UInt8], at now: Instant) {
        let number = insertIfNeeded(key, at: now)
        byteCount += record.count - rows[number].record.count
        if rows[number].commit(record, at: now) == 1 { unreadCount += 1 }
        if !repeatedKeys.isEmpty { repeatedKeys.remove(key) }
    }

    /// Calls `body` with every row, in no order.
    package func forEachRow(_ body: (_ key: HashedKey, _ record: [UInt8]) -> Void) {
        for row in rows { body(row.key, row.record) }
    }

    /// Notes that the view has read a record of this key.
    ///
    /// If the row has no unread record, the record is of a transaction whose outcome was unknown to this loop. The
    /// record shows that the transaction was committed. Earlier repeated times are older than the row in the view, so
    /// they are dropped.
    package mutating func markRead(_ key: Span<UInt8>) {
        guard let number = index(of: key) else { return }
        guard rows[number].unreadRecords > 0 else {
            repeatedKeys.remove(rows[number].key)
            return removeRow(at: number)
        }
        rows[number].unreadRecords -= 1
        guard rows[number].unreadRecords == 0 else { return }
        unreadCount -= 1
        if !isRepeated(at: number) { removeRow(at: number) }
    }

    /// Forgets lost rows, after the view has read to the end of its partition.
    package mutating func forgetLostRows(at now: Instant) {
        if unreadCount == 0 { return }
        if let nextSearch, now < nextSearch { return }
        nextSearch = now.advanced(byMilliseconds: Self.searchIntervalMilliseconds)
        for number in rows.indices.reversed() where rows[number].unreadRecords > 0 {
            let age = now.milliseconds(since: rows[number].since)
            guard age >= Self.unreadMillisecondsMax else { continue }
            unreadCount -= 1
            rows[number].unreadRecords = 0
            if !isRepeated(at: number) { removeRow(at: number) }
        }
    }

    package mutating func removeAll() {
        (rows, keyIndex) = ([], KeyIndex())
        repeatedKeys.removeAll()
        (unreadCount, byteCount, nextSearch) = (0, 0, nil)
    }

    // MARK: Row numbers

    private func index(of key: HashedKey) -> Int? { keyIndex.number(hash: key.hash) { rows[$0].key == key } }

    private func index(of key: Span<UInt8>) -> Int? {
        if rows.isEmpty { return nil }
        let hash = HashedKey.hash(of: key)
        return unsafe key.withUnsafeBytes { key in
            keyIndex.number(hash: hash) { unsafe rows[$0].key.equals(key) }
        }
    }

    /// Returns the number of the key's row. A new key gets an empty row.
    private mutating func insertIfNeeded(_ key: HashedKey, at now: Instant) -> Int {
        if let number = index(of: key) { return number }
        keyIndex.insert(rows.count, hash: key.hash)
        rows.append(Row(key: key, record: [], since: now))
        byteCount += key.bytes.count
        return rows.count - 1
    }

    private func isRepeated(at number: Int) -> Bool {
        !repeatedKeys.isEmpty && repeatedKeys.contains(rows[number].key)
    }

    private mutating func removeRow(at number: Int) {
        let last = rows.count - 1
        keyIndex.remove(number, hash: rows[number].key.hash)
        if number < last {
            keyIndex.renumber(last, to: number, hash: rows[last].key.hash)
            rows.swapAt(number, last)
        }
        let row = rows.removeLast()
        byteCount -= row.key.bytes.count + row.record.count
        if rows.isEmpty, rows.capacity > Self.keptCapacityMax { (rows, keyIndex) = ([], KeyIndex()) }
    }
}
