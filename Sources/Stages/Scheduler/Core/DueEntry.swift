internal import Kafka
internal import LiveActivity
package import StageSupport

/// A row of `timers` and the time at which it is due. Entries sort in due order.
package struct DueEntry: Hashable, Comparable, Sendable {
    /// The due time in milliseconds since 1970.
    package let at: Int64
    package let key: KeyBytes

    package init(at: Int64, key: KeyBytes) {
        self.at = at
        self.key = key
    }

    package static func < (a: DueEntry, b: DueEntry) -> Bool {
        a.at != b.at ? a.at < b.at : a.key.precedes(b.key)
    }

    // MARK: On disk

    /// The first byte of every entry. No key of the topic begins with it.
    private static let mark: UInt8 = 0
    private static let timeBytes = 8
    /// The number of bytes before the row's key.
    package static let prefixBytes = 1 + timeBytes
    /// The common prefix of all entries.
    package static let prefix = [mark]

    /// The key of this entry in the view. The view keeps entries beside the timers, in due order.
    package var stored: [UInt8] {
        var stored = Self.prefix
        stored.reserveCapacity(Self.prefixBytes + key.bytes.count)
        for shift in stride(from: 8 * (Self.timeBytes - 1), through: 0, by: -8) {
            stored.append(UInt8(truncatingIfNeeded: at >> Int64(shift)))
        }
        return stored + key.bytes
    }

    package init?(stored: Span<UInt8>) {
        guard stored.count > Self.prefixBytes, stored[0] == Self.mark else { return nil }
        var at: Int64 = 0
        for index in 1..<Self.prefixBytes { at = at << 8 | Int64(stored[index]) }
        self.init(
            at: at, key: KeyBytes([UInt8](copying: stored.extracting(Self.prefixBytes..<stored.count))))
    }

    /// Makes the entry of a row. Returns nil if the row is neither a timer nor a seen order.
    package init?(of key: Span<UInt8>, _ row: Span<UInt8>) {
        guard let at = TimerWake.time(of: key, row) else { return nil }
        self.init(at: at, key: KeyBytes([UInt8](copying: key)))
    }
}
