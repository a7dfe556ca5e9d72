/// The ranges of `receipts` that a reader still has to read, one for each lane. A lane first waits until the cluster
/// reports the end of its receipts, and is then read up to it.
///
/// The plan does no I/O: `ReceiptsReader` asks the cluster for ends, and reports the records and ends of its consumer.
package struct ReceiptReadPlan: Sendable {
    package struct ReadPosition: Sendable, Hashable {
        package let lane: Int32
        package let offset: Int64
    }

    private struct ReadRange {
        /// The offset of the next record.
        var next: Int64
        let end: Int64
    }

    /// The first offsets of lanes whose end is unknown, by lane.
    private var firstOffsets: [Int32: Int64] = [:]
    /// The ranges of lanes whose end is known, by lane.
    private var ranges: [Int32: ReadRange] = [:]

    package init() {}

    package var isIdle: Bool { firstOffsets.isEmpty && ranges.isEmpty }

    /// Plans to read a lane from an offset to its present end. An earlier plan for the lane is forgotten.
    package mutating func planRead(lane: Int32, from offset: Int64) {
        firstOffsets[lane] = offset
        ranges[lane] = nil
    }

    /// The lanes for which the reader has to ask for the end.
    package var lanesWithoutEnd: [Int32] { firstOffsets.keys.sorted() }

    /// Notes that the next receipt of a lane was deleted. The lane waits for its end again, and continues at the first
    /// receipt that exists. Returns false if the lane is not being read.
    package mutating func receiptsWereDeleted(lane: Int32) -> Bool {
        guard let range = ranges.removeValue(forKey: lane) else { return false }
        firstOffsets[lane] = range.next
        return true
    }

    /// Begins to read a lane after the cluster has reported the lowest and the highest offset of its receipts.
    package mutating func begin(lane: Int32, low: Int64, high: Int64) {
        guard let from = firstOffsets.removeValue(forKey: lane) else { return }
        ranges[lane] = ReadRange(next: max(from, low), end: high)
    }

    /// The positions at which the consumer reads.
    package var starts: [ReadPosition] {
        ranges.filter { $0.value.next < $0.value.end }
            .map { ReadPosition(lane: $0.key, offset: $0.value.next) }.sorted { $0.lane < $1.lane }
    }

    /// Returns whether a record is part of the range and new, and notes that it was read. A consumer that seeks back
    /// reports some records twice.
    package mutating func accepts(lane: Int32, at offset: Int64) -> Bool {
        guard let range = ranges[lane], offset >= range.next, offset < range.end else {
            return false
        }
        ranges[lane]?.next = offset + 1
        return true
    }

    /// Notes that the consumer has read all records of a lane below an offset. The last offsets may have no
    /// records.
    package mutating func reachedEnd(lane: Int32, at offset: Int64) {
        guard let range = ranges[lane], offset > range.next else { return }
        ranges[lane]?.next = offset
    }

    /// Returns the lanes that were read completely, with their ends. Each lane is returned once.
    package mutating func takeEnded() -> [ReadPosition] {
        let ended = ranges.filter { $0.value.next >= $0.value.end }
            .map { ReadPosition(lane: $0.key, offset: $0.value.end) }.sorted { $0.lane < $1.lane }
        for range in ended { ranges[range.lane] = nil }
        return ended
    }

    /// Forgets all lanes, because they belong to other processes.
    package mutating func forgetAll() {
        firstOffsets.removeAll()
        ranges.removeAll()
    }
}
