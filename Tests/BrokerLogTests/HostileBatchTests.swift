import Telemetry
import Testing

@testable import Broker

/// Returns a batch with a valid checksum whose only record has a wrong offset or time. A record stores both as the
/// difference from the header, which is 0 in a correct batch of one record.
private func contradictoryBatch(
    offsetDelta: Int = 0, timestampDelta: Int64 = 0, time: Int64 = secondsAfterNoon(5).milliseconds
) -> [UInt8] {
    var body: [UInt8] = []
    NewRecord(key: [1], value: [2]).append(
        to: &body, offsetDelta: offsetDelta, timestampDelta: timestampDelta)
    var header = BatchHeader(baseOffset: 0)
    header.baseTimestamp = time
    header.maxTimestamp = time
    header.recordCount = 1
    return BatchBuilder.assemble(header: header, body: body)
}

/// Batches with a valid checksum, and with numbers that overflow or contradict each other.
struct HostileBatchTests {
    @Test(arguments: [Int.max, 1, -1, Int.min])
    func `a record with the offset of another is an error for its reader`(_ offsetDelta: Int) throws {
        let fixture = try LogFixture()
        try fixture.log.append(timed("v", second: 0, key: "k"))
        try fixture.log.append(contradictoryBatch(offsetDelta: offsetDelta))
        try fixture.log.append(timed("v", second: 10, key: "k"))
        fixture.store.settle()
        let error = try #require(throws: LogError.self) {
            try fixture.firstRecord(atOrAfter: secondsAfterNoon(3))
        }
        #expect(error.code == .corruptMessage)
        #expect(throws: LogError.self) { try fixture.values() }
        #expect(try fixture.firstRecord(atOrAfter: secondsAfterNoon(7))?.offset == 2)
    }

    @Test func `a record with the offset of another ends a compaction but not the broker`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(timed("v", second: 0, key: "k"))
        try fixture.log.append(contradictoryBatch(offsetDelta: .max))
        fixture.log.settings = try TopicSettings(overrides: [
            "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0",
        ])
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        let plan = try #require(fixture.log.compactionPlan(now: secondsAfterNoon(10)))
        let result = CompactionPass.run(plan: plan, disk: Disk(), isStopping: { false })
        #expect(result.error?.code == .corruptMessage)
    }

    @Test func `a record whose time overflows is read`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(contradictoryBatch(timestampDelta: .max))
        try fixture.log.append(timed("v", second: 10))
        fixture.store.settle()
        // The time wraps to a negative number, so the search takes the record for an old one.
        #expect(try fixture.firstRecord(atOrAfter: secondsAfterNoon(3))?.offset == 1)
        #expect(try fixture.values().count == 2)
    }

    @Test(arguments: [Int64.min, -2])
    func `a timestamp below -1 is refused unless the broker sets the time`(_ time: Int64) throws {
        let fixture = try LogFixture()
        let error = try #require(throws: LogError.self) {
            try fixture.log.append(contradictoryBatch(time: time))
        }
        #expect(error == .timestampOutOfRange(time))
        #expect(fixture.log.endOffset == 0)
        #expect(try fixture.log.append(contradictoryBatch(time: -1)).baseOffset == 0)
        let stamped = try LogFixture(["message.timestamp.type": "LogAppendTime"])
        #expect(try stamped.log.append(contradictoryBatch(time: time)).logAppendTime == noon.milliseconds)
    }
}
