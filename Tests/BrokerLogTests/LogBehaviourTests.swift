import Telemetry
import Testing

@testable import Broker

/// Appends, reads and syncs of one log. The other files of this suite have its retention, its behavior on a disk that
/// fails, and its open files. Times are seconds after `noon`, and `settle` does the syncs that wait.
struct LogBehaviourTests {
    @Test func `an offset for a time is the first record that is not older`() throws {
        let fixture = try LogFixture(["segment.bytes": "300"])
        for second in 0..<50 as Range<Int64> { try fixture.log.append(timed("v", second: second * 10)) }
        fixture.store.settle()
        #expect(fixture.log.segmentCount > 5)
        for second in 0..<50 as Range<Int64> {
            let offset = try fixture.firstRecord(atOrAfter: secondsAfterNoon(second * 10 - 3))
            #expect(
                offset == TimedOffset(offset: second, timestamp: secondsAfterNoon(second * 10).milliseconds))
        }
        // No record is as new as that.
        #expect(try fixture.firstRecord(atOrAfter: secondsAfterNoon(1_000)) == nil)
        #expect(try fixture.firstRecordWithLargestTimestamp()?.offset == 49)
    }

    @Test func `with times out of order, the first record at or after a time is found`() throws {
        let fixture = try LogFixture()
        for second in [5, 9, 3, 7, 12] as [Int64] { try fixture.log.append(timed("v", second: second)) }
        fixture.store.settle()
        #expect(try fixture.firstRecord(atOrAfter: secondsAfterNoon(6))?.offset == 1)
        #expect(try fixture.firstRecord(atOrAfter: secondsAfterNoon(10))?.offset == 4)
    }

    @Test func `the newest time is that of a record, not of a younger marker`() throws {
        let fixture = try LogFixture()
        for second in [5, 9, 7] as [Int64] { try fixture.log.append(timed("v", second: second)) }
        _ = try fixture.log.appendMarker(producerID: 9, epoch: 0, commit: true, now: secondsAfterNoon(20))
        fixture.store.settle()
        #expect(try fixture.firstRecordWithLargestTimestamp()?.offset == 1)
    }

    @Test func `the newest time is that of a record that may be read`() throws {
        let fixture = try LogFixture(["cleanup.policy": "delete"])
        for second in [9, 5, 7, 6] as [Int64] { try fixture.log.append(timed("v", second: second)) }
        fixture.store.settle()
        try fixture.log.deleteRecords(before: 1)
        #expect(
            try fixture.firstRecordWithLargestTimestamp()?.offset == 2, "the deleted record is the newest")
        try fixture.log.append(timed("v", second: 8))
        #expect(try fixture.firstRecordWithLargestTimestamp()?.offset == 2, "the last record is not durable")
        fixture.store.settle()
        #expect(try fixture.firstRecordWithLargestTimestamp()?.offset == 4)
    }

    @Test func `the newest record of a large segment is found behind many older parts`() throws {
        let fixture = try LogFixture()
        // Enough for several entries of the sparse index. The newest record is in the middle.
        let large = String(repeating: "x", count: SegmentIndex.interval / 2)
        for second in 0..<20 as Range<Int64> {
            try fixture.log.append(timed(large, second: second == 9 ? 100 : second))
        }
        _ = try fixture.log.appendMarker(producerID: 9, epoch: 0, commit: true, now: secondsAfterNoon(200))
        fixture.store.settle()
        #expect(try fixture.firstRecordWithLargestTimestamp()?.offset == 9)
    }

    @Test func `the broker's time replaces the producer's if the topic is set so`() throws {
        let fixture = try LogFixture(["message.timestamp.type": "LogAppendTime"])
        let appended = try fixture.log.append(timed("old", second: -99), now: secondsAfterNoon(5))
        #expect(appended.logAppendTime == secondsAfterNoon(5).milliseconds)
        fixture.store.settle()
        let batch = try #require(try StoredBatch.all(in: fixture.log.read(from: 0)).first)
        #expect(batch.records[0].timestamp == secondsAfterNoon(5).milliseconds)
    }

    @Test func `one round of syncs answers all waiting appends`() throws {
        let fixture = try LogFixture()
        var answeredCount = 0
        for _ in 0..<100 {
            let appended = try fixture.log.append(timed("v", second: 0))
            fixture.log.whenDurable(upTo: appended.nextOffset) { if $0 == nil { answeredCount += 1 } }
        }
        #expect(answeredCount == 0)
        #expect(fixture.log.highWatermark == 0)
        fixture.store.settle()
        #expect(answeredCount == 100)
        #expect(fixture.store.flusher.requestCount <= 2)
    }

    @Test func `with FlushPolicy.os an append is answered and visible at once`() throws {
        let fixture = try LogFixture(flush: .os)
        let appended = try fixture.log.append(timed("v", second: 0))
        // An answer without an error is nil.
        var answers: [LogError?] = []
        fixture.log.whenDurable(upTo: appended.nextOffset) { answers.append($0) }
        #expect(answers == [nil])
        #expect(try StoredBatch.all(in: fixture.log.read(from: 0)).count == 1)
    }

    @Test func `a batch larger than the topic allows is refused`() throws {
        let fixture = try LogFixture(["max.message.bytes": "100"])
        let error = try #require(throws: LogError.self) {
            try fixture.log.append(timed(String(repeating: "x", count: 100), second: 0))
        }
        #expect(error.code == .messageTooLarge)
    }

    @Test func `a batch above the size of a read is returned whole, unless the read may be empty`() throws {
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
}
