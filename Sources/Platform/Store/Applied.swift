package import Telemetry

/// The progress of the tables in a partition. It changes in the same transaction as the rows, so it is never
/// ahead of them.
package struct Applied: Sendable, Hashable {
    /// The next offset to read.
    package var offset: Int64
    /// The time up to which the tables are complete: the timestamp of the last record, or the present time if
    /// the end was reached. The age of the file is counted from it. An idle stage updates it from time to
    /// time.
    package var asOf: WallTime
    /// The newest record in the tables, if any. It distinguishes this topic from another topic of the same
    /// name.
    package var last: LastRecord?

    static let tableName = ".applied"

    package init(offset: Int64, asOf: WallTime, last: LastRecord? = nil) {
        self.offset = offset
        self.asOf = asOf
        self.last = last
    }

    var bytes: [UInt8] {
        let head = offset.bigEndianBytes + asOf.nanoseconds.bigEndianBytes
        guard let last else { return head }
        return head + last.offset.bigEndianBytes + Int64(last.sum).bigEndianBytes
    }

    /// Returns the name, a zero byte, which no topic name contains, and the number.
    static func key(_ topic: String, _ partition: Int32) -> [UInt8] {
        Array(topic.utf8) + [0] + Int64(partition).bigEndianBytes
    }

    init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 16 || bytes.count == 32 else { return nil }
        func number(_ offset: Int) -> Int64 { Int64(bigEndianBytes: bytes.extracting(offset..<offset + 8)) }
        offset = number(0)
        asOf = WallTime(nanoseconds: number(8))
        if bytes.count == 32 {
            last = LastRecord(offset: number(16), sum: UInt32(truncatingIfNeeded: number(24)))
        }
    }
}

extension Picture {
    /// Returns nil if no record of the topic's partition was applied.
    package func applied(_ topic: String, _ partition: Int32) throws(StoreError) -> Applied? {
        guard let bytes = try value(of: Applied.key(topic, partition).span, in: appliedTable) else {
            return nil
        }
        guard let applied = Applied(bytes) else { throw unreadable }
        return applied
    }

    /// Returns the oldest `asOf` of all partitions, or nil without partitions.
    func oldestAsOf() throws(StoreError) -> WallTime? {
        var oldest: WallTime?
        var isWhole = true
        try scan(appliedTable) { key, stored in
            if TableSums.isKey(key) { return .goOn }
            guard RowCheck.holds(key, stored),
                let applied = Applied(stored.extracting(RowCheck.bytes..<stored.count))
            else {
                isWhole = false
                return .stop
            }
            oldest = min(oldest ?? applied.asOf, applied.asOf)
            return .goOn
        }
        guard isWhole else { throw unreadable }
        return oldest
    }

    private var unreadable: StoreError {
        .corrupt(path: path, what: "the row of an applied offset is malformed")
    }
}

extension Int64 {
    var bigEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
    }

    init(bigEndianBytes bytes: Span<UInt8>) {
        self = 0
        for i in bytes.indices { self = self << 8 | Int64(bytes[i]) }
    }
}
