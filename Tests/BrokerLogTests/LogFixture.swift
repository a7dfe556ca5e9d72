import Telemetry

@testable import Broker

/// A store in memory with one topic of one partition, on a disk that can fail. Its threads do not run. A test calls
/// `settle` for the syncs and `upkeep` for retention and compaction.
final class LogFixture {
    let directory = TestDirectory(inMemory: true)
    let faultyDisk = FaultyDisk(seed: 1)
    let store: TopicStore
    let log: PartitionLog

    init(_ settings: [String: String] = [:], flush: FlushPolicy = .everyAck) throws {
        store = try TopicStore(path: directory.path, flush: flush, disk: faultyDisk.disk) {}
        log = try store.create("t", partitions: 1, settings: settings).partitions[0]
    }

    /// Runs retention and compaction twice, because a segment that the first run closes is compacted by the second,
    /// after a checkpoint.
    func upkeep(at now: WallTime) {
        for _ in 0..<2 {
            store.settle(at: now)
            store.upkeep(now: now)
            while store.worker.runOnce() {}
            store.deliver(now: now)
            store.settle(at: now)
        }
    }

    /// Returns the first record of a time or later that a reader may read.
    func firstRecord(atOrAfter time: WallTime) throws(LogError) -> TimedOffset? {
        try log.firstRecord(atOrAfter: time.milliseconds, below: log.highWatermark)
    }

    /// Returns the first record with the largest timestamp that a reader may read.
    func firstRecordWithLargestTimestamp() throws(LogError) -> TimedOffset? {
        try log.firstRecordWithLargestTimestamp(below: log.highWatermark)
    }

    /// Returns the values of all records, with "-" for a tombstone.
    func values() throws -> [String] {
        var values: [String] = []
        try log.forEachBatch(from: 0) { values += $0.records.map { $0.valueText ?? "-" } }
        return values
    }
}

extension PartitionLog {
    /// Appends a batch at `noon` unless a test gives another time. It is durable after `settle`.
    @discardableResult
    func append(_ bytes: [UInt8], now: WallTime = noon) throws(LogError) -> AppendResult {
        try bytes.withBytes { (raw) throws(LogError) in try append(raw, now: now) }
    }

    /// Returns the bytes of the batches from an offset on.
    func read(from offset: Int64, maxBytes: Int = 1 << 20, committed: Bool = false) throws(LogError)
        -> [UInt8]
    {
        var writer = WireWriter()
        _ = try read(from: offset, maxBytes: maxBytes, committed: committed, into: &writer)
        return writer.copied()
    }
}

extension TopicStore {
    /// Runs the flusher on this thread until no sync waits, and answers the appends that are durable.
    func settle(at now: WallTime = noon) {
        while flusher.runOnce() { deliver(now: now) }
    }
}
