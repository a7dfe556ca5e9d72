import Glibc
import Telemetry
import Testing

@testable import Broker

/// The time some seconds after `noon`.
func at(_ seconds: Int64) -> WallTime { WallTime(milliseconds: noon.milliseconds + seconds * 1000) }

/// A batch of one record with a time, in seconds after `noon`.
func timed(_ value: String, second: Int64, key: String? = nil) -> [UInt8] {
    BatchBuilder.batch(
        [NewRecord(key: key.map { Array($0.utf8) }, value: Array(value.utf8))], time: at(second).milliseconds
    )
}

/// A store in memory with one topic of one partition, on a disk that can fail.
final class LogFixture {
    let directory = TestDirectory(inMemory: true)
    let faulty = FaultyDisk(seed: 1)
    let store: TopicStore
    let log: PartitionLog

    init(_ settings: [String: String] = [:], flush: FlushPolicy = .everyAck) throws {
        store = try TopicStore(path: directory.path, flush: flush, disk: faulty.disk) {}
        log = try store.create("t", partitions: 1, settings: settings).partitions[0]
    }

    /// Runs upkeep twice, because a segment that the first run closes is compacted by the second, after a checkpoint.
    func upkeep(at now: WallTime) {
        for _ in 0..<2 {
            store.settle(at: now)
            store.upkeep(now: now)
            while store.worker.runOnce() {}
            store.deliver(now: now)
            store.settle(at: now)
        }
    }

    /// Returns the values of all records, with "-" for a tombstone.
    func values() throws -> [String] {
        var values: [String] = []
        try log.forEachBatch(from: 0) { values += $0.records.map { $0.valueText ?? "-" } }
        return values
    }
}

/// Appends, reads, retention and syncs of one log, with and without faults of the disk.
struct LogBehaviourTests {
    @Test func `an offset for a time is the first record that is not older`() throws {
        let fixture = try LogFixture(["segment.bytes": "300"])
        for second in 0..<50 as Range<Int64> { try fixture.log.append(timed("v", second: second * 10)) }
        fixture.store.settle()
        #expect(fixture.log.segmentCount > 5)
        for second in 0..<50 as Range<Int64> {
            let offset = try fixture.log.offset(forTime: at(second * 10 - 3).milliseconds)
            #expect(offset == TimedOffset(offset: second, timestamp: at(second * 10).milliseconds))
        }
        #expect(try fixture.log.offset(forTime: at(1000).milliseconds) == nil)
        #expect(try fixture.log.offsetOfMaxTimestamp()?.offset == 49)
    }

    @Test func `a time that went backwards finds the first record at or after it`() throws {
        let fixture = try LogFixture()
        for second in [5, 9, 3, 7, 12] as [Int64] { try fixture.log.append(timed("v", second: second)) }
        fixture.store.settle()
        #expect(try fixture.log.offset(forTime: at(6).milliseconds)?.offset == 1)
        #expect(try fixture.log.offset(forTime: at(10).milliseconds)?.offset == 4)
    }

    @Test func `the broker's time replaces the producer's if the topic is set so`() throws {
        let fixture = try LogFixture(["message.timestamp.type": "LogAppendTime"])
        let appended = try fixture.log.append(timed("old", second: -99), now: at(5))
        #expect(appended.logAppendTime == at(5).milliseconds)
        fixture.store.settle()
        let batch = try #require(try StoredBatch.all(in: fixture.log.read(from: 0)).first)
        #expect(batch.records[0].timestamp == at(5).milliseconds)
    }

    @Test func `retention by time removes whole old segments and then the newest too`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second * 10), now: at(second * 10))
        }
        fixture.upkeep(at: at(200))
        #expect(fixture.log.logStartOffset >= 13)
        #expect(fixture.log.logStartOffset <= 14)
        #expect(throws: LogError.self) { try fixture.log.read(from: 0) }
        fixture.upkeep(at: at(900))
        #expect(fixture.log.logStartOffset == 20)
        #expect(fixture.log.endOffset == 20)
        let files = try Disk().names(in: fixture.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
    }

    @Test func `retention frees space on a full disk, and the newest segment follows later`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000", "segment.ms": "1000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second), now: at(second))
        }
        fixture.upkeep(at: at(21))
        let segments = fixture.log.segmentCount
        #expect(segments > 3)
        fixture.faulty.setFull(true)
        fixture.upkeep(at: at(900))
        #expect(fixture.log.segmentCount == 1)
        #expect(fixture.log.closedReason == nil)
        let files = try Disk().names(in: fixture.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
        fixture.faulty.setFull(false)
        fixture.upkeep(at: at(901))
        #expect(fixture.log.logStartOffset == 20)
        #expect(try fixture.log.append(timed("on", second: 901), now: at(901)).baseOffset == 20)
    }

    @Test func `a segment that cannot be removed is tried again, and the ones before it are gone`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second * 10), now: at(second * 10))
        }
        fixture.store.settle()
        fixture.faulty.failNext(.remove, with: .fail(EIO))
        fixture.upkeep(at: at(900))
        fixture.upkeep(at: at(901))
        #expect(fixture.log.logStartOffset == 20)
        let files = try Disk().names(in: fixture.log.directory)
        #expect(files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count == 1)
    }

    @Test func `records without a time are kept from the time of the last write`() throws {
        let fixture = try LogFixture(["retention.ms": "60000"])
        let bytes = BatchBuilder.batch([NewRecord(key: nil, value: [1])], time: -1)
        try fixture.log.append(bytes, now: WallTime.now())
        fixture.upkeep(at: WallTime.now())
        #expect(fixture.log.logStartOffset == 0)
        fixture.upkeep(at: WallTime(milliseconds: WallTime.now().milliseconds + 120_000))
        #expect(fixture.log.logStartOffset == 1)
    }

    @Test func `retention by size leaves at least its limit`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.bytes": "500"])
        for _ in 0..<20 { try fixture.log.append(timed("v", second: 0)) }
        fixture.upkeep(at: noon)
        #expect(fixture.log.size >= 500)
        #expect(fixture.log.size < 700)
    }

    @Test func `deleted records stay deleted after a kill`() throws {
        let directory = TestDirectory(inMemory: true)
        do {
            let store = try TopicStore(path: directory.path) {}
            let log = try store.create("t", partitions: 1).partitions[0]
            for _ in 0..<10 { try log.append(timed("v", second: 0)) }
            store.settle()
            try log.deleteRecords(before: 6)
            #expect(throws: LogError.offsetOutOfRange(offset: 5, from: 6, to: 10)) { try log.read(from: 5) }
            store.settle()
        }
        let store = try TopicStore(path: directory.path) {}
        #expect(store.topic(named: "t")?.partitions[0].logStartOffset == 6)
    }

    @Test func `one round of syncs answers all waiting appends`() throws {
        let fixture = try LogFixture()
        var answered = 0
        for _ in 0..<100 {
            let appended = try fixture.log.append(timed("v", second: 0))
            fixture.log.whenDurable(upTo: appended.nextOffset) { if $0 == nil { answered += 1 } }
        }
        #expect(answered == 0)
        #expect(fixture.log.highWatermark == 0)
        fixture.store.settle()
        #expect(answered == 100)
        #expect(fixture.store.flusher.requestCount <= 2)
    }

    @Test func `with FlushPolicy.os an append is answered and visible at once`() throws {
        let fixture = try LogFixture(flush: .os)
        let appended = try fixture.log.append(timed("v", second: 0))
        var answer: LogError??
        fixture.log.whenDurable(upTo: appended.nextOffset) { answer = .some($0) }
        #expect(answer == .some(nil))
        #expect(try StoredBatch.all(in: fixture.log.read(from: 0)).count == 1)
    }

    @Test func `a full disk refuses appends, keeps the records, and appends continue with new space`() throws
    {
        let fixture = try LogFixture()
        try fixture.log.append(timed("before", second: 0))
        fixture.faulty.failNext(.write, with: .tear(bytes: 30, errno: ENOSPC))
        let error = try #require(throws: LogError.self) { try fixture.log.append(timed("lost", second: 0)) }
        #expect(error.code == .kafkaStorageError)
        #expect("\(error)".contains("free space"))
        #expect(try fixture.log.append(timed("after", second: 0)).baseOffset == 1)
        fixture.store.settle()
        #expect(try fixture.values() == ["before", "after"])
    }

    @Test func `a full disk at a roll refuses the append, and the next one succeeds`() throws {
        let fixture = try LogFixture(["segment.bytes": "150"])
        for operation in [Disk.Operation.create, .rename, .write] {
            try fixture.log.append(timed("fill the segment until it is full \(operation)", second: 0))
            let end = fixture.log.endOffset
            fixture.faulty.failNext(operation, with: .fail(ENOSPC))
            #expect(throws: LogError.self) {
                try fixture.log.append(timed("fill the segment until it is full", second: 0))
            }
            #expect(fixture.log.endOffset == end)
            try fixture.log.append(timed("on", second: 0))
        }
        fixture.store.settle()
        #expect(try fixture.values().isEmpty == false)
    }

    @Test func `a roll that fails at any step leaves no file that breaks a later start`() throws {
        for operation in [Disk.Operation.create, .truncate, .rename, .write] {
            let fixture = try LogFixture(["segment.bytes": "220"])
            try fixture.log.append(timed("first", second: 0))
            try fixture.log.append(timed("second", second: 0))
            fixture.faulty.failNext(operation, with: .fail(ENOSPC))
            #expect(throws: LogError.self) {
                try fixture.log.append(timed("refused, it was too large", second: 0))
            }
            fixture.faulty.clearFailure()
            // This record fits into the old segment, whose offsets now pass the name of the failed segment.
            try fixture.log.append(timed("3", second: 0))
            for _ in 0..<5 { try fixture.log.append(timed("more and more", second: 0)) }
            fixture.store.settle()
            let copy = TestDirectory(inMemory: true)
            copyTree(at: fixture.directory.path, to: copy.path)
            let reopened = try TopicStore(path: copy.path) {}
            #expect(reopened.topic(named: "t")?.partitions[0].endOffset == 8, "\(operation)")
        }
    }

    @Test func `after a failed sync no unsynced record was acknowledged or remains`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(timed("safe", second: 0))
        fixture.store.settle()
        let appended = try fixture.log.append(timed("unsafe", second: 0))
        var answer: LogError?
        fixture.log.whenDurable(upTo: appended.nextOffset) { answer = $0 }
        fixture.faulty.failNext(.sync, with: .fail(EIO))
        fixture.store.settle()
        #expect(answer?.code == .kafkaStorageError)
        #expect(fixture.log.endOffset == 1)
        #expect(try fixture.log.append(timed("again", second: 0)).baseOffset == 1)
        fixture.store.settle()
        #expect(try fixture.values() == ["safe", "again"])
    }

    @Test func `a batch larger than the topic allows is refused`() throws {
        let fixture = try LogFixture(["max.message.bytes": "100"])
        let error = try #require(throws: LogError.self) {
            try fixture.log.append(timed(String(repeating: "x", count: 100), second: 0))
        }
        #expect(error.code == .messageTooLarge)
    }

    @Test func `a batch above the size of a read is returned whole`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(timed(String(repeating: "x", count: 5000), second: 0))
        try fixture.log.append(timed("y", second: 0))
        fixture.store.settle()
        #expect(try fixture.log.read(from: 0, maxBytes: 10).count > 5000)
        var writer = WireWriter()
        let empty = try fixture.log.read(
            from: 0, maxBytes: 10, committed: false, atLeastOne: false, into: &writer)
        #expect(empty.byteCount == 0)
        #expect(empty.nextOffset == 0)
    }

    @Test func `a compacted topic needs keys with every codec`() throws {
        let fixture = try LogFixture(["cleanup.policy": "compact"])
        for codec in [Codec.none, .gzip, .lz4, .zstd] {
            let error = try #require(throws: LogError.self) {
                try fixture.log.append(recompressed(timed("v", second: 0), with: codec))
            }
            #expect(error.code == .invalidRecord)
            try fixture.log.append(recompressed(timed("v", second: 0, key: "k"), with: codec))
        }
    }

    @Test func `open files stay within their limit`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, openSegmentsMax: 4) {}
        let topic = try store.create("t", partitions: 2, settings: ["segment.bytes": "100"])
        for log in topic.partitions {
            for _ in 0..<30 {
                try log.append(timed("some value", second: 0))
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
        for log in logs { try log.append(timed("v", second: 0)) }
        store.settle()
        #expect(store.environment.open.count == 40)
        store.upkeep(now: at(0))
        try logs[0].append(timed("w", second: 1))
        store.settle()
        store.upkeep(now: at(61))
        #expect(store.environment.open.count == 1)
        store.upkeep(now: at(122))
        #expect(store.environment.open.count == 0)
        for log in logs { #expect(try log.append(timed("w", second: 130)).baseOffset >= 1) }
        store.settle()
        for log in logs { #expect(try log.read(from: 0).count > 100) }
    }

    @Test func `with FlushPolicy.os closed segments are synced before a checkpoint`() throws {
        let directory = TestDirectory(inMemory: true)
        let faulty = FaultyDisk(seed: 1)
        do {
            let store = try TopicStore(
                path: directory.path, flush: .os, disk: faulty.disk, openSegmentsMax: 4, bootID: "one"
            ) {}
            let logs = try store.create("t", partitions: 20).partitions
            for log in logs { try log.append(timed("v", second: 0)) }
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

    @Test func `a roll without a free descriptor closes other files and succeeds`() throws {
        for operation in [Disk.Operation.create, .open] {
            let fixture = try LogFixture(["segment.bytes": "220"])
            let other = try fixture.store.create("other", partitions: 1).partitions[0]
            try other.append(timed("open", second: 0))
            for _ in 0..<2 { try fixture.log.append(timed("fill", second: 0)) }
            fixture.store.settle()
            fixture.store.environment.open.closeSegments()
            _ = try other.read(from: 0)
            fixture.faulty.failNext(operation, with: .fail(EMFILE))
            try fixture.log.append(timed("more and more and more and more and more and more", second: 0))
            fixture.faulty.clearFailure()
            fixture.store.settle()
            #expect(fixture.log.segmentCount == 2, "\(operation)")
            #expect(fixture.log.highWatermark == 3)
            #expect(try other.append(timed("on", second: 0)).baseOffset == 1)
        }
    }

    @Test func `a directory sync without a free descriptor is repeated later, and no record is lost`()
        throws
    {
        let fixture = try LogFixture()
        try fixture.log.append(timed("before", second: 0))
        fixture.store.settle()
        try fixture.log.roll()
        let appended = try fixture.log.append(timed("v", second: 0))
        var answer: LogError??
        fixture.log.whenDurable(upTo: appended.nextOffset) { answer = .some($0) }
        fixture.faulty.failNext(.syncDirectory, with: .fail(EMFILE))
        fixture.store.settle()
        #expect(answer == nil)
        #expect(fixture.log.highWatermark == 1)
        #expect(!fixture.store.flusher.runOnce())
        fixture.store.upkeep(now: at(1))
        fixture.store.settle()
        #expect(answer == .some(nil))
        #expect(fixture.log.highWatermark == 2)
    }
}
