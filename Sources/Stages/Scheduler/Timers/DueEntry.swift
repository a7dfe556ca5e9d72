internal import Kafka
internal import Schedules
package import StageSupport

/// The key of a row of `timers`, and the time at which the row is due: a timer fires, or an idempotency row expires.
/// Entries sort in due order.
package struct DueEntry: Hashable, Comparable, Sendable {
    /// The due time in milliseconds since 1970.
    package let dueAt: Int64
    package let key: HashedKey

    package init(dueAt: Int64, key: HashedKey) {
        self.dueAt = dueAt
        self.key = key
    }

    package static func < (a: DueEntry, b: DueEntry) -> Bool {
        a.dueAt != b.dueAt ? a.dueAt < b.dueAt : a.key.precedes(b.key)
    }

    // MARK: In the view's file

    /// The first byte of every entry. No key of the topic begins with it.
    private static let marker: UInt8 = 0
    private static let timeByteCount = 8
    /// The number of bytes before the row's key: the marker and the time.
    package static let prefixByteCount = 1 + timeByteCount
    /// The common prefix of all entries.
    package static let prefix = [marker]

    /// The key of this entry in the view, which keeps entries beside the rows: a zero byte, the due time in 8 bytes
    /// with the highest first, and the row's key. So entries lie in due order.
    package var storedKey: [UInt8] {
        var bytes = Self.prefix
        bytes.reserveCapacity(Self.prefixByteCount + key.bytes.count)
        for shift in stride(from: 8 * (Self.timeByteCount - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: dueAt >> Int64(shift)))
        }
        return bytes + key.bytes
    }

    /// Reads an entry from its key in the view. Returns nil for the key of a row.
    package init?(storedKey: Span<UInt8>) {
        guard storedKey.count > Self.prefixByteCount, storedKey[0] == Self.marker else { return nil }
        var dueAt: Int64 = 0
        for index in 1..<Self.prefixByteCount { dueAt = dueAt << 8 | Int64(storedKey[index]) }
        self.init(
            dueAt: dueAt,
            key: HashedKey([UInt8](copying: storedKey.extracting(Self.prefixByteCount..<storedKey.count))))
    }

    /// Makes the entry of a row. Returns nil if the row is neither a timer nor an idempotency row.
    package init?(rowKey key: Span<UInt8>, row: Span<UInt8>) {
        guard let dueAt = TimerWakeTime.wakeTime(key: key, row: row) else { return nil }
        self.init(dueAt: dueAt, key: HashedKey([UInt8](copying: key)))
    }
}
