import Glibc
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// Checkpoints. A checkpoint says how far the newest segment of a log was durable, so that a start need not read all of
/// it. Compaction may replace that segment, so a start uses a checkpoint only if it fits. The files of a test outlive
/// its first store, which ends with its `do` block: a second store with the same `bootID` follows a kill, one with
/// another `bootID` a power failure.
struct CheckpointTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "1000000", "min.cleanable.dirty.ratio": "0.01",
    ]

    /// Returns the newest value of each key.
    private func state(of log: PartitionLog) throws -> [String: String] {
        var state: [String: String] = [:]
        try log.forEachBatch(from: 0) { batch in
            for record in batch.records { state[record.keyText] = record.valueText }
        }
        return state
    }

    /// - Parameter checkpointIndex: The number of records before the checkpoint.
    @Test(arguments: 1..<30)
    func `a checkpoint from before a compaction is ignored`(_ checkpointIndex: Int) throws {
        let directory = TestDirectory(inMemory: true)
        var expected: [String: String] = [:]
        var path = ""
        do {
            let store = try TopicStore(path: directory.path, bootID: "one") {}
            let log = try store.create("t", partitions: 1, settings: Self.settings).partitions[0]
            path = log.checkpointPath
            var stale: [UInt8]?
            for index in 0..<30 {
                if index == checkpointIndex {
                    log.checkpoints.requestCheckpoint()
                    store.settle()
                    stale = try Disk().contents(of: path)
                }
                // Compaction removes two of the first three records.
                let key = index < 3 ? "a" : "key \(index)"
                try log.append(records("value \(index)", key: key))
                expected[key] = "value \(index)"
            }
            store.settle()
            try log.roll()
            store.settle()
            store.upkeep(now: secondsAfterNoon(10))
            while store.worker.runOnce() {}
            store.deliver(now: secondsAfterNoon(10))
            store.settle()
            #expect(try state(of: log) == expected)
            #expect(try log.append(records("last", key: "last")).baseOffset == 30)
            expected["last"] = "last"
            store.settle()
            // The compaction wrote a new checkpoint, which is replaced by the old one.
            try Disk().replace(path, with: stale ?? [])
        }
        // After a power failure, a start cuts all bytes from the first one on that begins no valid batch. With the
        // position of the old checkpoint it would cut valid records.
        let store = try TopicStore(path: directory.path, bootID: "two") {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(log.endOffset == 31)
        #expect(try state(of: log) == expected)
    }

    @Test func `a compaction waits until the checkpoint on the disk points behind its segments`() throws {
        let directory = TestDirectory(inMemory: true)
        let checkpointsFail = Mutex(false)
        let disk = Disk { operation, path, _ in
            let isCheckpoint = operation == .write && path.hasSuffix("/checkpoint.tmp")
            return isCheckpoint && checkpointsFail.withLock { $0 } ? .fail(ENOSPC) : nil
        }
        let store = try TopicStore(path: directory.path, disk: disk) {}
        let log = try store.create("t", partitions: 1, settings: Self.settings).partitions[0]
        for index in 0..<20 { try log.append(records("v\(index)", key: "k\(index % 3)")) }
        store.settle()
        checkpointsFail.withLock { $0 = true }
        try log.roll()
        store.settle()
        #expect(log.compactionPlan(now: secondsAfterNoon(10)) == nil)
        #expect(log.checkpoints.hasFailed)
        // The failed checkpoint is not repeated at once.
        #expect(!store.flusher.runOnce())
        store.upkeep(now: secondsAfterNoon(11))
        store.settle()
        #expect(log.compactionPlan(now: secondsAfterNoon(12)) == nil)
        checkpointsFail.withLock { $0 = false }
        store.upkeep(now: secondsAfterNoon(13))
        store.settle()
        #expect(log.compactionPlan(now: secondsAfterNoon(14)) != nil)
    }

    @Test func `damage in front of a checkpoint cuts nothing behind it`() throws {
        for offset in 0..<10 as Range<Int64> {
            let directory = TestDirectory(inMemory: true)
            do {
                let store = try TopicStore(path: directory.path, bootID: "one") {}
                let log = try store.create("t", partitions: 1).partitions[0]
                for index in 0..<10 { try log.append(records("v\(index)")) }
                store.settle()
                let position = try log.locateBatch(holding: offset, in: log.activeSegment).position
                try store.close()
                let positionInRecord = BatchHeader.size + 9
                flipBit(1, at: position + positionInRecord, in: log.activeSegment.path)
            }
            let store = try TopicStore(path: directory.path, bootID: "two") {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.endOffset == 10, "damage at \(offset)")
        }
    }

    @Test func `records that were deleted stay deleted when the checkpoint does not fit`() throws {
        let directory = TestDirectory(inMemory: true)
        do {
            let store = try TopicStore(path: directory.path, bootID: "one") {}
            let log = try store.create("t", partitions: 1).partitions[0]
            for index in 0..<10 { try log.append(records("v\(index)")) }
            store.settle()
            try log.deleteRecords(before: 6)
            try store.close()
            let bytes = try Disk().contents(of: log.checkpointPath)
            var misplaced = try #require(Checkpoint(decoding: bytes ?? []))
            // No batch begins here.
            misplaced.position -= 7
            try Disk().replace(log.checkpointPath, with: misplaced.encoded())
        }
        let store = try TopicStore(path: directory.path, bootID: "one") {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(log.logStartOffset == 6)
        #expect(log.endOffset == 10)
    }
}
