import Glibc
import Telemetry
import Testing

@testable import Broker

func at(_ seconds: Int64) -> WallTime { WallTime(milliseconds: noon.milliseconds + seconds * 1000) }

func timed(_ value: String, _ seconds: Int64, key: String? = nil) -> [UInt8] {
    BatchBuilder.batch(
        [NewRecord(key: key.map { Array($0.utf8) }, value: Array(value.utf8))], time: at(seconds).milliseconds
    )
}

/// A store in memory with one topic of one partition.
final class OneLog {
    let directory = TestDirectory(inMemory: true)
    let faulty = FaultyDisk(seed: 1)
    let store: TopicStore
    let log: PartitionLog

    init(_ settings: [String: String] = [:], flush: FlushPolicy = .everyAck) throws {
        store = try TopicStore(path: directory.path, flush: flush, disk: faulty.disk) {}
        log = try store.create("t", partitions: 1, settings: settings).partitions[0]
    }

    /// Two turns, because a segment that one turn closes is compacted in the next, behind a checkpoint.
    func upkeep(at now: WallTime) {
        for _ in 0..<2 {
            store.settle(at: now)
            store.upkeep(now: now)
            while store.worker.runOnce() {}
            store.deliver(now: now)
            store.settle(at: now)
        }
    }

    /// The values of all records that are left, "-" for a tombstone.
    func values() throws -> [String] {
        var values: [String] = []
        try log.forEachBatch(from: 0) { values += $0.records.map { $0.valueText ?? "-" } }
        return values
    }
}

struct LogBehaviourTests {
    @Test func `an offset for a time is the first record that is not older`() throws {
        let one = try OneLog(["segment.bytes": "300"])
        for second in 0..<50 as Range<Int64> { try one.log.append(timed("v", second * 10)) }
        one.store.settle()
        #expect(one.log.segmentCount > 5)
        for second in 0..<50 as Range<Int64> {
            let found = try one.log.offset(forTime: at(second * 10 - 3).milliseconds)
            #expect(found == TimedOffset(offset: second, timestamp: at(second * 10).milliseconds))
        }
        #expect(try one.log.offset(forTime: at(1000).milliseconds) == nil)
        #expect(try one.log.offsetOfMaxTimestamp()?.offset == 49)
    }

    @Test func `a time that went backwards finds the first record at or after it`() throws {
        let one = try OneLog()
        for second in [5, 9, 3, 7, 12] as [Int64] { try one.log.append(timed("v", second)) }
        one.store.settle()
        #expect(try one.log.offset(forTime: at(6).milliseconds)?.offset == 1)
        #expect(try one.log.offset(forTime: at(10).milliseconds)?.offset == 4)
    }

    @Test func `the broker's time replaces the producer's where the topic says so`() throws {
        let one = try OneLog(["message.timestamp.type": "LogAppendTime"])
        let appended = try one.log.append(timed("old", -99), now: at(5))
        #expect(appended.logAppendTime == at(5).milliseconds)
        one.store.settle()
        let batch = try #require(try StoredBatch.all(in: one.log.read(from: 0)).first)
        #expect(batch.records[0].timestamp == at(5).milliseconds)
    }

    @Test func `retention by time removes whole old segments and then the newest too`() throws {
        let one = try OneLog(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try one.log.append(timed("v", second * 10), now: at(second * 10))
        }
        one.upkeep(at: at(200))
        #expect(one.log.logStartOffset >= 13)
        #expect(one.log.logStartOffset <= 14)
        #expect(throws: LogError.self) { try one.log.read(from: 0) }
        one.upkeep(at: at(900))
        #expect(one.log.logStartOffset == 20)
        #expect(one.log.endOffset == 20)
        let files = try Disk().names(in: one.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
    }

    @Test func `retention frees space on a full disk, and the newest segment follows later`() throws {
        let one = try OneLog(["segment.bytes": "200", "retention.ms": "60000", "segment.ms": "1000"])
        for second in 0..<20 as Range<Int64> {
            try one.log.append(timed("v", second), now: at(second))
        }
        one.upkeep(at: at(21))
        let segments = one.log.segmentCount
        #expect(segments > 3)
        one.faulty.fill(true)
        one.upkeep(at: at(900))
        #expect(one.log.segmentCount == 1)
        #expect(one.log.closedReason == nil)
        let files = try Disk().names(in: one.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
        one.faulty.fill(false)
        one.upkeep(at: at(901))
        #expect(one.log.logStartOffset == 20)
        #expect(try one.log.append(timed("on", 901), now: at(901)).baseOffset == 20)
    }

    @Test func `a segment that cannot be removed is tried again, and the ones before it are gone`() throws {
        let one = try OneLog(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try one.log.append(timed("v", second * 10), now: at(second * 10))
        }
        one.store.settle()
        one.faulty.failNext(.remove, .fail(EIO))
        one.upkeep(at: at(900))
        one.upkeep(at: at(901))
        #expect(one.log.logStartOffset == 20)
        let files = try Disk().names(in: one.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
    }

    @Test func `records without a time are kept from the time of the last write`() throws {
        let one = try OneLog(["retention.ms": "60000"])
        let bytes = BatchBuilder.batch([NewRecord(key: nil, value: [1])], time: -1)
        try one.log.append(bytes, now: WallTime.now())
        one.upkeep(at: WallTime.now())
        #expect(one.log.logStartOffset == 0)
        one.upkeep(at: WallTime(milliseconds: WallTime.now().milliseconds + 120_000))
        #expect(one.log.logStartOffset == 1)
    }

    @Test func `retention by size leaves at least that much`() throws {
        let one = try OneLog(["segment.bytes": "200", "retention.bytes": "500"])
        for _ in 0..<20 { try one.log.append(timed("v", 0)) }
        one.upkeep(at: noon)
        #expect(one.log.size >= 500)
        #expect(one.log.size < 700)
    }

    @Test func `deleted records stay deleted after a kill`() throws {
        let directory = TestDirectory(inMemory: true)
        do {
            let store = try TopicStore(path: directory.path) {}
            let log = try store.create("t", partitions: 1).partitions[0]
            for _ in 0..<10 { try log.append(timed("v", 0)) }
            store.settle()
            try log.deleteRecords(before: 6)
            #expect(throws: LogError.offsetOutOfRange(offset: 5, from: 6, to: 10)) { try log.read(from: 5) }
            store.settle()
        }
        let store = try TopicStore(path: directory.path) {}
        #expect(store.topic(named: "t")?.partitions[0].logStartOffset == 6)
    }

    @Test func `one round of syncs answers all waiting appends`() throws {
        let one = try OneLog()
        var answered = 0
        for _ in 0..<100 {
            let appended = try one.log.append(timed("v", 0))
            one.log.whenDurable(upTo: appended.nextOffset) { if $0 == nil { answered += 1 } }
        }
        #expect(answered == 0)
        #expect(one.log.highWatermark == 0)
        one.store.settle()
        #expect(answered == 100)
        #expect(one.store.flusher.requestCount <= 2)
    }

    @Test func `at the system's pace an append is answered and seen at once`() throws {
        let one = try OneLog(flush: .os)
        let appended = try one.log.append(timed("v", 0))
        var answer: LogError??
        one.log.whenDurable(upTo: appended.nextOffset) { answer = .some($0) }
        #expect(answer == .some(nil))
        #expect(try StoredBatch.all(in: one.log.read(from: 0)).count == 1)
    }

    @Test func `a full disk refuses appends, keeps the records and goes on when there is space`() throws {
        let one = try OneLog()
        try one.log.append(timed("before", 0))
        one.faulty.failNext(.write, .tear(bytes: 30, errno: ENOSPC))
        let error = try #require(throws: LogError.self) { try one.log.append(timed("lost", 0)) }
        #expect(error.code == .kafkaStorageError)
        #expect("\(error)".contains("free space"))
        #expect(try one.log.append(timed("after", 0)).baseOffset == 1)
        one.store.settle()
        #expect(try one.values() == ["before", "after"])
    }

    @Test func `a full disk at a roll refuses and goes on`() throws {
        let one = try OneLog(["segment.bytes": "150"])
        for operation in [Disk.Operation.create, .rename, .write] {
            try one.log.append(timed("fill the segment until it is full \(operation)", 0))
            let end = one.log.endOffset
            one.faulty.failNext(operation, .fail(ENOSPC))
            #expect(throws: LogError.self) {
                try one.log.append(timed("fill the segment until it is full", 0))
            }
            #expect(one.log.endOffset == end)
            try one.log.append(timed("on", 0))
        }
        one.store.settle()
        #expect(try one.values().isEmpty == false)
    }

    @Test func `a roll that fails at any step leaves nothing that a later start stumbles over`() throws {
        for operation in [Disk.Operation.create, .truncate, .rename, .write] {
            let one = try OneLog(["segment.bytes": "220"])
            try one.log.append(timed("first", 0))
            try one.log.append(timed("second", 0))
            one.faulty.failNext(operation, .fail(ENOSPC))
            #expect(throws: LogError.self) { try one.log.append(timed("refused, it was too large", 0)) }
            one.faulty.clearFailure()
            // Small enough for the old segment, which goes on behind the name of the failed one.
            try one.log.append(timed("3", 0))
            for _ in 0..<5 { try one.log.append(timed("more and more", 0)) }
            one.store.settle()
            let copy = TestDirectory(inMemory: true)
            copyTree(one.directory.path, copy.path)
            let again = try TopicStore(path: copy.path) {}
            #expect(again.topic(named: "t")?.partitions[0].endOffset == 8, "\(operation)")
        }
    }

    @Test func `after a failed sync nothing unsafe was acknowledged or is left`() throws {
        let one = try OneLog()
        try one.log.append(timed("safe", 0))
        one.store.settle()
        let appended = try one.log.append(timed("unsafe", 0))
        var answer: LogError?
        one.log.whenDurable(upTo: appended.nextOffset) { answer = $0 }
        one.faulty.failNext(.sync, .fail(EIO))
        one.store.settle()
        #expect(answer?.code == .kafkaStorageError)
        #expect(one.log.endOffset == 1)
        #expect(try one.log.append(timed("again", 0)).baseOffset == 1)
        one.store.settle()
        #expect(try one.values() == ["safe", "again"])
    }

    @Test func `a batch larger than the topic allows is refused`() throws {
        let one = try OneLog(["max.message.bytes": "100"])
        let error = try #require(throws: LogError.self) {
            try one.log.append(timed(String(repeating: "x", count: 100), 0))
        }
        #expect(error.code == .messageTooLarge)
    }

    @Test func `a batch larger than the reader asked for comes whole`() throws {
        let one = try OneLog()
        try one.log.append(timed(String(repeating: "x", count: 5000), 0))
        try one.log.append(timed("y", 0))
        one.store.settle()
        #expect(try one.log.read(from: 0, maxBytes: 10).count > 5000)
        var writer = WireWriter()
        let none = try one.log.read(from: 0, maxBytes: 10, committed: false, atLeastOne: false, into: &writer)
        #expect(none.byteCount == 0)
        #expect(none.nextOffset == 0)
    }

    @Test func `a compacted topic needs keys with every codec`() throws {
        let one = try OneLog(["cleanup.policy": "compact"])
        for codec in [Codec.none, .gzip, .lz4, .zstd] {
            let error = try #require(throws: LogError.self) {
                try one.log.append(recompressed(timed("v", 0), codec))
            }
            #expect(error.code == .invalidRecord)
            try one.log.append(recompressed(timed("v", 0, key: "k"), codec))
        }
    }

    @Test func `open files stay within their limit`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, openSegmentsMax: 4) {}
        let topic = try store.create("t", partitions: 2, settings: ["segment.bytes": "100"])
        for log in topic.partitions {
            for _ in 0..<30 {
                try log.append(timed("some value", 0))
                store.settle()
            }
        }
        for log in topic.partitions {
            for offset in 0..<30 as Range<Int64> { _ = try log.read(from: offset) }
        }
        #expect(store.environment.open.count <= 4)
    }

    @Test(arguments: [(1024, 128), (524_288, 128), (256, 32), (64, 16), (20, 16)])
    func `open segments take a share of the descriptors`(_ descriptors: Int, _ limit: Int) {
        #expect(OpenSegments.limit(ofDescriptors: descriptors) == limit)
        #expect(OpenSegments.limitDefault >= 16)
    }

    @Test func `unused segments are closed, and opened again when they are needed`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path) {}
        let logs = try store.create("t", partitions: 40).partitions
        for log in logs { try log.append(timed("v", 0)) }
        store.settle()
        #expect(store.environment.open.count == 40)
        store.upkeep(now: at(0))
        try logs[0].append(timed("w", 1))
        store.settle()
        store.upkeep(now: at(61))
        #expect(store.environment.open.count == 1)
        store.upkeep(now: at(122))
        #expect(store.environment.open.count == 0)
        for log in logs { #expect(try log.append(timed("w", 130)).baseOffset >= 1) }
        store.settle()
        for log in logs { #expect(try log.read(from: 0).count > 100) }
    }

    @Test func `at the system's pace closed segments are still synced before a checkpoint`() throws {
        let directory = TestDirectory(inMemory: true)
        let faulty = FaultyDisk(seed: 1)
        do {
            let store = try TopicStore(
                path: directory.path, flush: .os, disk: faulty.disk, openSegmentsMax: 4, bootID: "one"
            ) {}
            let logs = try store.create("t", partitions: 20).partitions
            for log in logs { try log.append(timed("v", 0)) }
            #expect(store.environment.open.count <= 4)
            for log in logs { log.checkpoints.requestCheckpoint() }
            for log in logs { log.requestFlush() }
            store.settle()
        }
        faulty.losePower()
        let store = try TopicStore(path: directory.path, bootID: "two") {}
        let ends = store.topic(named: "t")?.partitions.map(\.endOffset) ?? []
        #expect(ends == Array(repeating: 1 + PartitionLog.skippedOffsets, count: 20))
    }

    @Test func `a roll without a descriptor closes other files and is done`() throws {
        for operation in [Disk.Operation.create, .open] {
            let one = try OneLog(["segment.bytes": "220"])
            let other = try one.store.create("other", partitions: 1).partitions[0]
            try other.append(timed("open", 0))
            for _ in 0..<2 { try one.log.append(timed("fill", 0)) }
            one.store.settle()
            one.store.environment.open.closeSegments()
            _ = try other.read(from: 0)
            one.faulty.failNext(operation, .fail(EMFILE))
            try one.log.append(timed("more and more and more and more and more and more", 0))
            one.faulty.clearFailure()
            one.store.settle()
            #expect(one.log.segmentCount == 2, "\(operation)")
            #expect(one.log.highWatermark == 3)
            #expect(try other.append(timed("on", 0)).baseOffset == 1)
        }
    }

    @Test func `a sync that has no descriptor for the directory is done later and takes nothing back`()
        throws
    {
        let one = try OneLog()
        try one.log.append(timed("before", 0))
        one.store.settle()
        try one.log.roll()
        let appended = try one.log.append(timed("v", 0))
        var answer: LogError??
        one.log.whenDurable(upTo: appended.nextOffset) { answer = .some($0) }
        one.faulty.failNext(.syncDirectory, .fail(EMFILE))
        one.store.settle()
        #expect(answer == nil)
        #expect(one.log.highWatermark == 1)
        #expect(!one.store.flusher.runOnce())
        one.store.upkeep(now: at(1))
        one.store.settle()
        #expect(answer == .some(nil))
        #expect(one.log.highWatermark == 2)
    }
}
