internal import Kafka
internal import LiveActivity
package import Stages

/// A row of `timers`, and when it has to be looked at; entries are in the order in which that happens.
package struct DueEntry: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
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

    /// No key of the topic begins with it.
    private static let mark: UInt8 = 0
    private static let timeBytes = 8
    /// What stands before the row's own key.
    package static let prefixBytes = 1 + timeBytes
    /// All entries.
    package static let prefix = [mark]

    /// The key of a row that the view keeps beside the timer's, in due order.
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

    /// The entry of a row; nil for what is no such row.
    package init?(of key: Span<UInt8>, _ row: Span<UInt8>) {
        guard let at = TimerWake.time(of: key, row) else { return nil }
        self.init(at: at, key: KeyBytes([UInt8](copying: key)))
    }
}
