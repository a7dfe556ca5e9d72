/// The ranges of `receipts` that a reader still has to read, one for each lane. A lane first waits until the cluster
/// has stored our marker in its receipts, and is then read up to it.
///
/// The plan does no I/O: `ReceiptsReader` reports the offsets of markers, and the records and ends of its consumer.
package struct ReceiptReadPlan: Sendable {
    package struct ReadPosition: Sendable, Hashable {
        package let lane: Int32
        package let offset: Int64
    }

    private struct ReadRange {
        /// The offset of the next record.
        var next: Int64
        /// The offset of our marker.
        let end: Int64
    }

    /// The first offsets of lanes whose marker is not stored yet, by lane.
    private var firstOffsets: [Int32: Int64] = [:]
    /// The ranges of lanes whose marker is stored, by lane.
    private var ranges: [Int32: ReadRange] = [:]

    package init() {}

    package var isIdle: Bool { firstOffsets.isEmpty && ranges.isEmpty }

    /// Plans to read a lane from an offset to a marker that is not stored yet. An earlier plan for the lane is
    /// forgotten.
    package mutating func planRead(lane: Int32, from offset: Int64) {
        firstOffsets[lane] = offset
        ranges[lane] = nil
    }

    /// The lanes whose marker is not stored yet.
    package var lanesWithoutMarker: [Int32] { firstOffsets.keys.sorted() }

    /// Begins to read a lane after the cluster has stored our marker.
    package mutating func begin(lane: Int32, markerAt offset: Int64) {
        guard let from = firstOffsets.removeValue(forKey: lane) else { return }
        ranges[lane] = ReadRange(next: from, end: offset)
    }

    /// The positions at which the consumer reads.
    package var starts: [ReadPosition] {
        ranges.filter { $0.value.next < $0.value.end }
            .map { ReadPosition(lane: $0.key, offset: $0.value.next) }.sorted { $0.lane < $1.lane }
    }

    /// Notes that a record was read. Returns whether it is new and part of the lane's range. A consumer that seeks back
    /// reports some records twice.
    package mutating func take(lane: Int32, at offset: Int64) -> Bool {
        guard let range = ranges[lane], offset >= range.next else { return false }
        ranges[lane]?.next = offset + 1
        return offset < range.end
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
