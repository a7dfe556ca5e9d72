package import Telemetry

/// How far the tables hold a partition. It changes in the transaction that changes the rows, so it is
/// never ahead of them.
package struct Applied: Sendable, Hashable {
    /// The next offset to read.
    package var offset: Int64
    /// Everything written to the partition before this time is in the tables: the timestamp of the
    /// last record, or the present once the end was reached. The file's age is counted from here; an
    /// idle stage enters it again now and then.
    package var asOf: WallTime
    /// The newest record among them, if there was one: it tells this topic from another of its name.
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
    /// nil when nothing of the partition has been applied.
    package func applied(_ partition: TopicPartition) throws(StoreError) -> Applied? {
        guard let bytes = try value(of: partition.key.span, in: appliedTable) else { return nil }
        guard let applied = Applied(bytes) else { throw unreadable }
        return applied
    }

    /// The oldest time as of which any partition is held; nil when none is.
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
        .corrupt(path: path, what: "an applied offset is not an offset and a time")
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
