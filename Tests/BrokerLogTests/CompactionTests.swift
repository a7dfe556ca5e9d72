import Simulation
import Telemetry
import Testing

@testable import Broker

/// Compaction keeps the newest record of each key, and the records and markers that readers still need. Times are
/// seconds after `noon`. `LogFixture.upkeep` closes old segments and compacts them.
struct CompactionTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "2000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "60000", "segment.ms": "1000",
    ]

    // A dictionary gets the same records, and must be equal to the state that a reader makes from the log.
    @Test(arguments: [Codec.none, .gzip, .lz4, .zstd])
    func `a reader of a compacted log ends at the same state`(_ codec: Codec) throws {
        var random = SeededGenerator(seed: UInt64(codec.rawValue))
        let fixture = try LogFixture(Self.settings)
        var expected: [String: String] = [:]
        for round in 0..<30 as Range<Int64> {
            for _ in 0..<10 {
                var batch: [NewRecord] = []
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let key = "key \(Int.random(in: 0..<20, using: &random))"
                    let value = Bool.random(using: &random) ? "value \(random.next())" : nil
                    expected[key] = value
                    batch.append(NewRecord(key: Array(key.utf8), value: value.map { Array($0.utf8) }))
                }
                let bytes = BatchBuilder.batch(batch, time: secondsAfterNoon(round * 10).milliseconds)
                try fixture.log.append(recompressed(bytes, with: codec), now: secondsAfterNoon(round * 10))
            }
            fixture.upkeep(at: secondsAfterNoon(round * 10 + 5))
            var state: [String: String] = [:]
            try fixture.log.forEachBatch(from: 0) { batch in
                for record in batch.records { state[record.keyText] = record.valueText }
            }
            #expect(state == expected)
        }
        fixture.upkeep(at: secondsAfterNoon(1000))
        fixture.upkeep(at: secondsAfterNoon(2000))
        var recordCount = 0
        try fixture.log.forEachBatch(from: 0) { recordCount += $0.records.count }
        #expect(recordCount < 60, "compaction left \(recordCount) records of 20 keys")
    }

    // The grace time is the setting delete.retention.ms, here 60 s.
    @Test func `a tombstone stays for its grace time and is then removed`() throws {
        let fixture = try LogFixture(Self.settings)
        try fixture.log.append(timed("v", second: 0, key: "k"))
        let tombstone = BatchBuilder.batch(
            [NewRecord(key: Array("k".utf8), value: nil)], time: secondsAfterNoon(1).milliseconds)
        try fixture.log.append(tombstone, now: secondsAfterNoon(1))
        fixture.upkeep(at: secondsAfterNoon(10))
        #expect(try fixture.values() == ["-"])
        fixture.upkeep(at: secondsAfterNoon(60))
        #expect(try fixture.values() == ["-"])
        fixture.upkeep(at: secondsAfterNoon(80))
        #expect(try fixture.values() == [])
        #expect(fixture.log.endOffset == 2)
        #expect(
            try fixture.log.append(timed("again", second: 90, key: "k"), now: secondsAfterNoon(90)).baseOffset
                == 2)
    }

    @Test func `snappy batches are compacted into plain ones`() throws {
        let fixture = try LogFixture(Self.settings)
        let plain = records("one value", "one value", "one value", key: "k")
        let body = Array(plain[BatchHeader.size...])
        var header = plain.withBytes { BatchHeader(parsing: $0) }
        header.attributes = Int16(Codec.snappy.rawValue)
        // One literal, as a Snappy writer makes for bytes that it cannot compress.
        let literalWithLengthByte: UInt8 = 60 << 2
        let snappy = [UInt8(body.count), literalWithLengthByte, UInt8(body.count - 1)] + body
        try fixture.log.append(BatchBuilder.assemble(header: header, body: snappy))
        fixture.upkeep(at: secondsAfterNoon(10))
        let batches = try StoredBatch.all(in: fixture.log.read(from: 0))
        #expect(batches.flatMap(\.records).map(\.offset) == [2])
        #expect(batches[0].header.codec == 0)
    }

    @Test func `a marker stays as long as a record of its transaction`() throws {
        let fixture = try LogFixture(Self.settings)
        func append(_ value: String, key: String, sequence: Int32, commits: Bool) throws {
            let batch = BatchBuilder.batch(
                [NewRecord(key: Array(key.utf8), value: Array(value.utf8))], time: noon.milliseconds,
                producerID: 5, producerEpoch: 0, baseSequence: sequence, transactional: true)
            try fixture.log.append(batch)
            _ = try fixture.log.appendMarker(producerID: 5, epoch: 0, commit: commits, now: noon)
        }
        try append("kept", key: "a", sequence: 0, commits: true)
        try append("aborted", key: "a", sequence: 1, commits: false)
        try append("replaced", key: "b", sequence: 2, commits: true)
        try fixture.log.append(records("newest", key: "b"))
        fixture.upkeep(at: secondsAfterNoon(10))
        fixture.upkeep(at: secondsAfterNoon(100))
        fixture.upkeep(at: secondsAfterNoon(200))
        var markers: [Int64] = []
        var values: [String] = []
        try fixture.log.forEachBatch(from: 0) { batch in
            if batch.commits != nil { markers.append(batch.header.baseOffset) }
            if !batch.header.isControl { values += batch.records.map { $0.valueText ?? "-" } }
        }
        #expect(values == ["kept", "newest"])
        #expect(markers == [1], "the marker behind the record that is kept")
        #expect(fixture.log.producers.abortedTransactions.isEmpty)
        #expect(fixture.log.lastStableOffset == fixture.log.endOffset)
    }

    @Test func `records of an open transaction are not touched`() throws {
        let fixture = try LogFixture(Self.settings)
        try fixture.log.append(records("old", key: "k"))
        let batch = BatchBuilder.batch(
            [NewRecord(key: Array("k".utf8), value: Array("open".utf8))], time: noon.milliseconds,
            producerID: 5, producerEpoch: 0, baseSequence: 0, transactional: true)
        try fixture.log.append(batch)
        try fixture.log.append(records("newer", key: "k"))
        fixture.upkeep(at: secondsAfterNoon(10))
        fixture.upkeep(at: secondsAfterNoon(20))
        #expect(try fixture.values() == ["old", "open", "newer"])
    }

    @Test func `a producer's sequence survives the loss of its records`() throws {
        let directory = TestDirectory(inMemory: true)
        let bytes = BatchBuilder.batch(
            [NewRecord(key: [1], value: [1])], time: noon.milliseconds, producerID: 5, producerEpoch: 0,
            baseSequence: 0)
        do {
            let store = try TopicStore(path: directory.path) {}
            let log = try store.create("t", partitions: 1, settings: Self.settings).partitions[0]
            try log.append(bytes)
            try log.append(BatchBuilder.batch([NewRecord(key: [1], value: [2])], time: noon.milliseconds))
            store.settle()
            store.upkeep(now: secondsAfterNoon(10))
            while store.worker.runOnce() {}
            store.deliver(now: secondsAfterNoon(10))
            store.settle()
            // Without a checkpoint, the sequence must come from the log itself.
            try Disk().removeFile(at: log.directory + "/checkpoint")
        }
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(try log.append(bytes).isDuplicate)
    }

    @Test func `a pass with too many keys ends early, and the next one continues`() throws {
        let fixture = try LogFixture(Self.settings)
        for index in 0..<40 {
            try fixture.log.append(records("first", key: "k\(index)"))
        }
        for index in 0..<40 {
            try fixture.log.append(records("second", key: "k\(index)"))
        }
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        // Each pass compacts a few keys, so 40 passes are enough.
        for _ in 0..<40 {
            guard var plan = fixture.log.compactionPlan(now: secondsAfterNoon(10)) else { break }
            plan.keysMax = 7
            fixture.log.isCompacting = true
            fixture.log.finishCompaction(
                with: CompactionPass.run(plan: plan, disk: Disk(), isStopping: { false }),
                now: secondsAfterNoon(10))
            fixture.store.settle()
        }
        #expect(try fixture.values() == Array(repeating: "second", count: 40))
    }

    @Test func `a stopped pass leaves the log as it was`() throws {
        let fixture = try LogFixture(Self.settings)
        for _ in 0..<40 { try fixture.log.append(records("v", key: "k")) }
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        let plan = try #require(fixture.log.compactionPlan(now: secondsAfterNoon(10)))
        let result = CompactionPass.run(plan: plan, disk: Disk(), isStopping: { true })
        #expect(result.error != nil)
        #expect(try fixture.values().count == 40)
    }
}
