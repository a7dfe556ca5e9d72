import Telemetry
import Testing

@testable import Broker

/// One record in a sound batch that says of itself what it likes.
private func liar(offsetDelta: Int = 0, timestampDelta: Int64 = 0, time: Int64 = at(5).milliseconds)
    -> [UInt8]
{
    var body: [UInt8] = []
    NewRecord(key: [1], value: [2]).append(
        to: &body, offsetDelta: offsetDelta, timestampDelta: timestampDelta)
    var header = BatchHeader(baseOffset: 0)
    header.baseTimestamp = time
    header.maxTimestamp = time
    header.recordCount = 1
    return BatchBuilder.assemble(header: header, body: body)
}

/// Batches whose checksum holds and whose numbers were chosen to break the arithmetic behind it.
struct HostileBatchTests {
    @Test(arguments: [Int.max, 1, -1, Int.min])
    func `a record with the offset of another is an error for its reader`(_ delta: Int) throws {
        let one = try OneLog()
        try one.log.append(timed("v", 0, key: "k"))
        try one.log.append(liar(offsetDelta: delta))
        try one.log.append(timed("v", 10, key: "k"))
        one.store.settle()
        let error = try #require(throws: LogError.self) {
            try one.log.offset(forTime: at(3).milliseconds)
        }
        #expect(error.code == .corruptMessage)
        #expect(throws: LogError.self) { try one.values() }
        #expect(try one.log.offset(forTime: at(7).milliseconds)?.offset == 2)
    }

    @Test func `a record that claims another's offset ends a compaction and not the broker`() throws {
        let one = try OneLog()
        try one.log.append(timed("v", 0, key: "k"))
        try one.log.append(liar(offsetDelta: .max))
        one.log.settings = try TopicSettings(overrides: [
            "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0",
        ])
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        let plan = try #require(one.log.compactionPlan(now: at(10)))
        let result = CompactionPass.run(plan: plan, disk: Disk(), isStopping: { false })
        #expect(result.error?.code == .corruptMessage)
    }

    @Test func `a record whose time leaves the numbers ends nothing`() throws {
        let one = try OneLog()
        try one.log.append(liar(timestampDelta: .max))
        try one.log.append(timed("v", 10))
        one.store.settle()
        #expect(try one.log.offset(forTime: at(3).milliseconds)?.offset == 1)
        #expect(try one.values().count == 2)
    }

    @Test(arguments: [Int64.min, -2])
    func `a timestamp below -1 is refused unless the broker sets the time`(_ time: Int64) throws {
        let one = try OneLog()
        let error = try #require(throws: LogError.self) { try one.log.append(liar(time: time)) }
        #expect(error == .timestampOutOfRange(time))
        #expect(one.log.endOffset == 0)
        #expect(try one.log.append(liar(time: -1)).baseOffset == 0)
        let stamped = try OneLog(["message.timestamp.type": "LogAppendTime"])
        #expect(try stamped.log.append(liar(time: time)).logAppendTime == noon.milliseconds)
    }
}
