import Glibc
import Telemetry
import Testing

@testable import Broker

/// The deletion of old records, by time, by size and on request. `LogFixture.upkeep` deletes whole segments.
extension LogBehaviourTests {
    /// The number of segments whose files exist. A segment that is being deleted has the suffix ".deleted".
    private func segmentFileCount(of log: PartitionLog) throws -> Int {
        let names = try Disk().names(in: log.directory)
        return names.filter { $0.hasSuffix(".log") || $0.hasSuffix(".deleted") }.count
    }

    @Test func `retention by time removes whole old segments and then the newest too`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second * 10), now: secondsAfterNoon(second * 10))
        }
        fixture.upkeep(at: secondsAfterNoon(200))
        // Records from before second 140 may go. They are the first 14, but a segment with a newer record stays.
        #expect(fixture.log.logStartOffset >= 13)
        #expect(fixture.log.logStartOffset <= 14)
        #expect(throws: LogError.self) { try fixture.log.read(from: 0) }
        fixture.upkeep(at: secondsAfterNoon(900))
        #expect(fixture.log.logStartOffset == 20)
        #expect(fixture.log.endOffset == 20)
        #expect(try segmentFileCount(of: fixture.log) == 1)
    }

    @Test func `retention frees space on a full disk, and the newest segment follows later`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000", "segment.ms": "1000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second), now: secondsAfterNoon(second))
        }
        fixture.upkeep(at: secondsAfterNoon(21))
        let segments = fixture.log.segmentCount
        #expect(segments > 3)
        fixture.faultyDisk.setFull(true)
        fixture.upkeep(at: secondsAfterNoon(900))
        #expect(fixture.log.segmentCount == 1)
        #expect(fixture.log.closedReason == nil)
        #expect(try segmentFileCount(of: fixture.log) == 1)
        fixture.faultyDisk.setFull(false)
        fixture.upkeep(at: secondsAfterNoon(901))
        #expect(fixture.log.logStartOffset == 20)
        #expect(try fixture.log.append(timed("on", second: 901), now: secondsAfterNoon(901)).baseOffset == 20)
    }

    @Test func `a segment that cannot be removed is tried again, and the ones before it are gone`() throws {
        let fixture = try LogFixture(["segment.bytes": "200", "retention.ms": "60000"])
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed("v", second: second * 10), now: secondsAfterNoon(second * 10))
        }
        fixture.store.settle()
        fixture.faultyDisk.failNext(.remove, with: .fail(EIO))
        fixture.upkeep(at: secondsAfterNoon(900))
        fixture.upkeep(at: secondsAfterNoon(901))
        #expect(fixture.log.logStartOffset == 20)
        #expect(try segmentFileCount(of: fixture.log) == 1)
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
        // The limit, and less than one segment more.
        #expect(fixture.log.byteCount >= 500)
        #expect(fixture.log.byteCount < 700)
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
}
