import Lifecycle

/// One record of a virtual log, or the marker of a transaction.
struct LogRecord {
    enum Kind: Equatable {
        case data
        /// The end of a transaction.
        case marker(commits: Bool)
    }

    var offset: Int64 = 0
    var kind = Kind.data
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [(name: String, value: [UInt8]?)] = []
    /// Milliseconds since 1970, by the leader's clock if the topic is stamped by the cluster, else by the writer's.
    var timestamp: Int64 = 0
    /// The producer of the transaction. Nil for a record without one.
    var producerID: Int64?

    var byteCount: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
            $0 + $1.name.utf8.count + ($1.value?.count ?? 0)
        }
    }
}

/// The log of one partition, in memory: with markers, a last stable offset, a log start, retention and compaction.
final class VirtualLog {
    let topic: String
    let partition: Int32
    let isStampedByCluster: Bool
    private(set) var records: [LogRecord] = []
    private(set) var startOffset: Int64 = 0
    /// The high watermark: the offset of the next record.
    private(set) var endOffset: Int64 = 0
    /// The first offset of each open transaction, by its producer.
    private(set) var openTransactions: [Int64: Int64] = [:]
    /// The aborted transactions: the producer, and the offsets from the first record to the marker.
    private var abortedRanges: [(producerID: Int64, offsets: ClosedRange<Int64>)] = []
    /// The newest epoch of each producer. A record of an older one is refused.
    private(set) var epochs: [Int64: Int16] = [:]

    init(topic: String, partition: Int32, isStampedByCluster: Bool) {
        (self.topic, self.partition, self.isStampedByCluster) = (topic, partition, isStampedByCluster)
    }

    /// The end of what a reader of committed records may read.
    var lastStableOffset: Int64 { openTransactions.values.min() ?? endOffset }

    // MARK: Writing

    func append(_ record: LogRecord, epoch: Int16 = 0) {
        var record = record
        record.offset = endOffset
        if let producer = record.producerID, record.kind == .data {
            if openTransactions[producer] == nil { openTransactions[producer] = endOffset }
            epochs[producer] = epoch
        }
        records.append(record)
        endOffset += 1
    }

    /// Ends the transaction of a producer here.
    func appendMarker(of producer: Int64, epoch: Int16, commits: Bool, timestamp: Int64) {
        epochs[producer] = max(epochs[producer] ?? 0, epoch)
        if let first = openTransactions.removeValue(forKey: producer), !commits {
            abortedRanges.append((producer, first...endOffset))
        }
        append(LogRecord(kind: .marker(commits: commits), timestamp: timestamp, producerID: producer))
    }

    // MARK: Reading

    /// Returns the first committed record at or behind an offset. Without one, moves the offset to the last stable
    /// offset.
    func nextCommitted(from offset: inout Int64) -> LogRecord? {
        var index = firstIndex(from: offset)
        while index < records.count, records[index].offset < lastStableOffset {
            let record = records[index]
            if record.kind == .data, !isAborted(record) { return record }
            index += 1
        }
        offset = max(offset, lastStableOffset)
        return nil
    }

    private func isAborted(_ record: LogRecord) -> Bool {
        guard let producer = record.producerID else { return false }
        return abortedRanges.contains { $0.producerID == producer && $0.offsets.contains(record.offset) }
    }

    /// Returns the offset of the first record with a timestamp at or after a time.
    func firstOffset(since milliseconds: Int64) -> Int64? {
        records.first { $0.offset < lastStableOffset && $0.timestamp >= milliseconds }?.offset
    }

    private func firstIndex(from offset: Int64) -> Int {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Deletion

    /// Deletes the records at the beginning that are older than a time, also the newest one. Only what open transactions
    /// hold stays.
    func deleteRecords(olderThan milliseconds: Int64) {
        var count = 0
        while count < records.count, records[count].offset < lastStableOffset,
            records[count].timestamp < milliseconds
        {
            count += 1
        }
        if count == 0 { return }
        startOffset = count < records.count ? records[count].offset : endOffset
        records.removeFirst(count)
        abortedRanges.removeAll { $0.offsets.upperBound < startOffset }
    }

    /// Keeps the newest record of each key among those below the last stable offset, and drops tombstones that are
    /// older than a time.
    func compact(droppingTombstonesOlderThan milliseconds: Int64) {
        let stable = lastStableOffset
        var newest: [[UInt8]: Int64] = [:]
        for record in records where record.offset < stable && record.kind == .data && !isAborted(record) {
            if let key = record.key { newest[key] = record.offset }
        }
        records.removeAll { record in
            guard record.offset < stable else { return false }
            guard record.kind == .data, let key = record.key, newest[key] == record.offset else {
                // The last record stays, so that the log's end is known.
                return record.offset != endOffset - 1
            }
            return record.value == nil && record.timestamp < milliseconds
        }
        abortedRanges.removeAll { range in !records.contains { range.offsets.contains($0.offset) } }
    }
}
