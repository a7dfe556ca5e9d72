package import Telemetry

/// The part of a topic's partition that the tables contain. It is a row of the environment's own table and
/// changes in the same transaction as the rows of the partition. So it is never ahead of them.
package struct AppliedProgress: Sendable, Hashable {
    /// The next offset to read.
    package var offset: Int64
    /// The time up to which the tables are complete: the timestamp of the last record, or the current time if
    /// the end was reached. The age of the file is counted from it. An idle stage updates it from time to
    /// time.
    package var completeUntil: WallTime
    /// The newest record in the tables, if any. It distinguishes this topic from another topic of the same
    /// name.
    package var lastRecord: LastRecord?

    static let tableName = ".applied"

    package init(offset: Int64, completeUntil: WallTime, lastRecord: LastRecord? = nil) {
        self.offset = offset
        self.completeUntil = completeUntil
        self.lastRecord = lastRecord
    }

    /// The row's value: the offset and `completeUntil` in nanoseconds, then the offset and checksum of the
    /// last record if there is one. Each number has eight bytes, big-endian.
    var bytes: [UInt8] {
        let progress = offset.bigEndianBytes + completeUntil.nanoseconds.bigEndianBytes
        guard let lastRecord else { return progress }
        return progress + lastRecord.offset.bigEndianBytes + Int64(lastRecord.checksum).bigEndianBytes
    }

    private static let byteCount = 16
    private static let byteCountWithLastRecord = 32

    /// Returns the row's key: the topic's name, a zero byte, which no name contains, and the partition in
    /// eight bytes.
    static func key(forTopic topic: String, partition: Int32) -> [UInt8] {
        Array(topic.utf8) + [0] + Int64(partition).bigEndianBytes
    }

    init?(parsing bytes: Span<UInt8>) {
        let hasLastRecord = bytes.count == Self.byteCountWithLastRecord
        guard bytes.count == Self.byteCount || hasLastRecord else { return nil }
        func number(at offset: Int) -> Int64 { Int64(bigEndianBytes: bytes.extracting(offset..<offset + 8)) }
        offset = number(at: 0)
        completeUntil = WallTime(nanoseconds: number(at: 8))
        if hasLastRecord {
            lastRecord = LastRecord(
                offset: number(at: 16), checksum: UInt32(truncatingIfNeeded: number(at: 24)))
        }
    }
}

extension ReadSnapshot {
    /// Returns nil if no record of the topic's partition was applied.
    package func appliedProgress(ofTopic topic: String, partition: Int32) throws(StoreError)
        -> AppliedProgress?
    {
        guard
            let bytes = try value(
                of: AppliedProgress.key(forTopic: topic, partition: partition).span, in: progressTable)
        else {
            return nil
        }
        guard let applied = AppliedProgress(parsing: bytes) else { throw malformedProgressError }
        return applied
    }

    /// Returns the oldest `completeUntil` of all partitions, or nil without partitions.
    func oldestCompleteTime() throws(StoreError) -> WallTime? {
        var oldest: WallTime?
        var isIntact = true
        try scan(progressTable) { key, stored in
            if TableSums.isKey(key) { return .next }
            guard RowChecksum.isValid(key: key, stored: stored),
                let applied = AppliedProgress(
                    parsing: stored.extracting(RowChecksum.byteCount..<stored.count))
            else {
                isIntact = false
                return .stop
            }
            oldest = min(oldest ?? applied.completeUntil, applied.completeUntil)
            return .next
        }
        guard isIntact else { throw malformedProgressError }
        return oldest
    }

    private var malformedProgressError: StoreError {
        .corrupt(path: path, damage: "the row of an applied offset is malformed")
    }
}

extension Int64 {
    var bigEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
    }

    init(bigEndianBytes bytes: Span<UInt8>) {
        self = 0
        for index in bytes.indices { self = self << 8 | Int64(bytes[index]) }
    }
}
