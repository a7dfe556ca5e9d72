import Simulation
import Telemetry
import Testing

@testable import Broker

struct CompactionTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "2000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "60000", "segment.ms": "1000",
    ]

    /// Keys and values as a dictionary knows them must be what a reader puts together from the log.
    @Test(arguments: [Codec.none, .gzip, .lz4, .zstd])
    func `a reader of a compacted log ends at the same state`(_ codec: Codec) throws {
        var random = SeededGenerator(seed: UInt64(codec.rawValue))
        let one = try OneLog(Self.settings)
        var truth: [String: String] = [:]
        for round in 0..<30 as Range<Int64> {
            for _ in 0..<10 {
                var batch: [NewRecord] = []
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let key = "key \(Int.random(in: 0..<20, using: &random))"
                    let value = Bool.random(using: &random) ? "value \(random.next())" : nil
                    truth[key] = value
                    batch.append(NewRecord(key: Array(key.utf8), value: value.map { Array($0.utf8) }))
                }
                let bytes = BatchBuilder.batch(batch, time: at(round * 10).milliseconds)
                try one.log.append(recompressed(bytes, codec), now: at(round * 10))
            }
            one.upkeep(at: at(round * 10 + 5))
            var state: [String: String] = [:]
            try one.log.forEachBatch(from: 0) { batch in
                for record in batch.records { state[record.keyText] = record.valueText }
            }
            #expect(state == truth)
        }
        one.upkeep(at: at(1000))
        one.upkeep(at: at(2000))
        var records = 0
        try one.log.forEachBatch(from: 0) { records += $0.records.count }
        #expect(records < 60, "compaction left \(records) records of 20 keys")
    }

    @Test func `a tombstone stays for its grace time and then goes`() throws {
        let one = try OneLog(Self.settings)
        try one.log.append(timed("v", 0, key: "k"))
        let tombstone = BatchBuilder.batch(
            [NewRecord(key: Array("k".utf8), value: nil)], time: at(1).milliseconds)
        try one.log.append(tombstone, now: at(1))
        one.upkeep(at: at(10))
        #expect(try one.values() == ["-"])
        one.upkeep(at: at(60))
        #expect(try one.values() == ["-"])
        one.upkeep(at: at(80))
        #expect(try one.values() == [])
        #expect(one.log.endOffset == 2)
        #expect(try one.log.append(timed("again", 90, key: "k"), now: at(90)).baseOffset == 2)
    }

    @Test func `snappy batches are compacted into plain ones`() throws {
        let one = try OneLog(Self.settings)
        let plain = records("one value", "one value", "one value", key: "k")
        let body = Array(plain[BatchHeader.size...])
        var header = plain.withBytes { BatchHeader(parsing: $0) }
        header.attributes = 2
        // A literal: what a Snappy writer gives for bytes that it cannot compress.
        let snappy = [UInt8(body.count), 60 << 2, UInt8(body.count - 1)] + body
        try one.log.append(BatchBuilder.assemble(header: header, body: snappy))
        one.upkeep(at: at(10))
        let batches = try StoredBatch.all(in: one.log.read(from: 0))
        #expect(batches.flatMap(\.records).map(\.offset) == [2])
        #expect(batches[0].header.codec == 0)
    }

    @Test func `a marker stays as long as a record of its transaction`() throws {
        let one = try OneLog(Self.settings)
        func transaction(_ sequence: Int32, _ value: String, key: String, commit: Bool) throws {
            let batch = BatchBuilder.batch(
                [NewRecord(key: Array(key.utf8), value: Array(value.utf8))], time: noon.milliseconds,
                producerID: 5, producerEpoch: 0, baseSequence: sequence, transactional: true)
            try one.log.append(batch)
            _ = try one.log.appendMarker(producerID: 5, epoch: 0, commit: commit, now: noon)
        }
        try transaction(0, "kept", key: "a", commit: true)
        try transaction(1, "aborted", key: "a", commit: false)
        try transaction(2, "replaced", key: "b", commit: true)
        try one.log.append(records("newest", key: "b"))
        one.upkeep(at: at(10))
        one.upkeep(at: at(100))
        one.upkeep(at: at(200))
        var markers: [Int64] = []
        var values: [String] = []
        try one.log.forEachBatch(from: 0) { batch in
            if batch.commits != nil { markers.append(batch.header.baseOffset) }
            if !batch.header.isControl { values += batch.records.map { $0.valueText ?? "-" } }
        }
        #expect(values == ["kept", "newest"])
        #expect(markers == [1])
        #expect(one.log.producers.abortedTransactions.isEmpty)
        #expect(one.log.lastStableOffset == one.log.endOffset)
    }

    @Test func `records of an open transaction are not touched`() throws {
        let one = try OneLog(Self.settings)
        try one.log.append(records("old", key: "k"))
        let batch = BatchBuilder.batch(
            [NewRecord(key: Array("k".utf8), value: Array("open".utf8))], time: noon.milliseconds,
            producerID: 5, producerEpoch: 0, baseSequence: 0, transactional: true)
        try one.log.append(batch)
        try one.log.append(records("newer", key: "k"))
        one.upkeep(at: at(10))
        one.upkeep(at: at(20))
        #expect(try one.values() == ["old", "open", "newer"])
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
            store.upkeep(now: at(10))
            while store.worker.runOnce() {}
            store.deliver(now: at(10))
            store.settle()
            // As after a loss of the checkpoint: the log itself must know.
            try Disk().removeFile(at: log.directory + "/checkpoint")
        }
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(try log.append(bytes).isDuplicate)
    }

    @Test func `a pass with too many keys ends early and the next goes on`() throws {
        let one = try OneLog(Self.settings)
        for index in 0..<40 {
            try one.log.append(records("first", key: "k\(index)"))
        }
        for index in 0..<40 {
            try one.log.append(records("second", key: "k\(index)"))
        }
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        for _ in 0..<40 {
            guard var plan = one.log.compactionPlan(now: at(10)) else { break }
            plan.keysMax = 7
            one.log.isCompacting = true
            one.log.finishCompaction(
                with: CompactionPass.run(plan: plan, disk: Disk(), isStopping: { false }), now: at(10))
            one.store.settle()
        }
        #expect(try one.values() == Array(repeating: "second", count: 40))
    }

    @Test func `a stopped pass leaves the log as it was`() throws {
        let one = try OneLog(Self.settings)
        for _ in 0..<40 { try one.log.append(records("v", key: "k")) }
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        let plan = try #require(one.log.compactionPlan(now: at(10)))
        let result = CompactionPass.run(plan: plan, disk: Disk(), isStopping: { true })
        #expect(result.error != nil)
        #expect(try one.values().count == 40)
    }
}
