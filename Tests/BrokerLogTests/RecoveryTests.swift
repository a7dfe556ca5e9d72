import Glibc
import Telemetry
import Testing

@testable import Broker

/// The start of a log with the files of the previous process. A store with another `bootID` than the one before starts
/// after a power failure or a reboot, one with the same `bootID` after a kill.
struct RecoveryTests {
    /// Records are kept without end.
    private static let withoutRetention = ["retention.ms": "-1"]

    /// Makes a closed store with one log, and returns the log's directory.
    private func makeLog(
        in directory: TestDirectory, settings: [String: String] = withoutRetention,
        fill: (PartitionLog) throws -> Void = { _ in }
    ) throws -> String {
        let store = try TopicStore(path: directory.path, bootID: "one") {}
        let log = try store.create("t", partitions: 1, settings: settings).partitions[0]
        try fill(log)
        store.settle()
        try store.close()
        return log.directory
    }

    @Test(arguments: [(Int64.min, Int64(0)), (-1, 0), (7, 7), (Int64.max, secondsAfterNoon(10).milliseconds)])
    func `a stored time before 1970 or in the future is corrected at the start`(
        _ time: Int64, _ correctedTime: Int64
    ) throws {
        let directory = TestDirectory(inMemory: true)
        let path = try makeLog(in: directory)
        try replaceFiles(with: [stored(records("v"), at: 0, time: time)], in: path)
        let store = try TopicStore(path: directory.path, clock: { secondsAfterNoon(10) }, wake: {})
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(log.activeSegment.firstAppendedAt == correctedTime)
        store.upkeep(now: secondsAfterNoon(20))
        try log.append(records("more"), now: secondsAfterNoon(21))
        store.settle()
        try log.roll()
        // As after the loss of the segment's summary.
        _ = try log.rebuiltIndex(of: log.segments[0])
        #expect(log.segments[0].firstAppendedAt == correctedTime)
        log.settings = try TopicSettings(overrides: [
            "cleanup.policy": "compact", "max.compaction.lag.ms": "1000", "min.cleanable.dirty.ratio": "1",
        ])
        // The plan computes with the time, and must not overflow.
        _ = log.compactionPlan(now: secondsAfterNoon(22))
    }

    @Test func `a producer of old records is remembered after a crash`() throws {
        let directory = TestDirectory(inMemory: true)
        let batch = BatchBuilder.batch(
            [NewRecord(key: nil, value: [1])], time: 1, producerID: 5, producerEpoch: 0, baseSequence: 0)
        let path = try makeLog(in: directory) { try $0.append(batch) }
        // Without a checkpoint, the start reads the producer from the records.
        unlink(path + "/checkpoint")
        let store = try TopicStore(path: directory.path, clock: { secondsAfterNoon(10) }, wake: {})
        let log = try #require(store.topic(named: "t")).partitions[0]
        store.upkeep(now: secondsAfterNoon(20))
        #expect(try log.append(batch, now: secondsAfterNoon(21)).isDuplicate)
        #expect(log.endOffset == 1)
    }

    @Test func `a start that failed does not prove that the machine stayed up`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try makeLog(in: directory)
        func machineStayedUp() throws -> Bool {
            try TopicStore(path: directory.path, bootID: "two") {}.environment.machineStayedUp
        }
        // A directory has the checkpoint's name, so the log cannot be opened.
        unlink(path + "/checkpoint")
        try Disk().makeDirectory(at: path + "/checkpoint")
        #expect(throws: TopicStoreError.self) { try machineStayedUp() }
        rmdir(path + "/checkpoint")
        #expect(try !machineStayedUp())
        #expect(try machineStayedUp())
    }

    @Test func `offsets continue behind the checkpoint if the segments are lost`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try makeLog(in: directory) { log in
            for _ in 0..<5 { try log.append(records("v")) }
        }
        for name in try Disk().names(in: path) where name.hasSuffix(".log") { unlink(path + "/" + name) }
        for _ in 0..<2 {
            let store = try TopicStore(path: directory.path) {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.logStartOffset == 5)
            #expect(log.endOffset == 5)
        }
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(try log.append(records("new")).baseOffset == 5)
    }

    @Test func `a read counts records and not the offsets that compaction left empty`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try makeLog(in: directory)
        var batches: [[UInt8]] = []
        // Each of the 100 records is behind an empty batch of 50,000 offsets.
        let emptyOffsets: Int64 = 50_000
        for index in 0..<100 as Range<Int64> {
            let baseOffset = index * (emptyOffsets + 1)
            var emptyBatch = BatchHeader(baseOffset: baseOffset)
            emptyBatch.lastOffsetDelta = Int32(emptyOffsets - 1)
            batches.append(BatchBuilder.assemble(header: emptyBatch, body: []))
            batches.append(stored(records("v"), at: baseOffset + emptyOffsets))
        }
        try replaceFiles(with: batches, in: path)
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        for (recordsMax, expected) in [(1000, 100), (100, 100), (1, 1), (7, 7)] as [(Int64, Int64)] {
            var writer = WireWriter()
            let result = try log.read(
                from: 0, maxBytes: 1 << 20, maxRecords: recordsMax, committed: false, into: &writer)
            #expect(result.recordCount == expected)
            #expect(try StoredBatch.all(in: writer.copied()).flatMap(\.records).count == Int(expected))
            if expected == 100 { #expect(result.nextOffset == log.endOffset) }
        }
    }

    @Test func `a copy of the data that starts within one boot is treated as after a power failure`() throws {
        let original = TestDirectory(inMemory: true)
        let path = try makeLog(in: original) { log in
            for index in 0..<10 { try log.append(records("v\(index)")) }
        }
        let copy = TestDirectory(inMemory: true)
        copyTree(at: original.path, to: copy.path)
        // The copy was made while the broker wrote, so a page of the log may be older than the checkpoint.
        let file = copy.path + path.dropFirst(original.path.count) + "/00000000000000000000.log"
        flipBit(1, at: 400, in: file)
        unlink(copy.path + path.dropFirst(original.path.count) + "/checkpoint")
        let store = try TopicStore(path: copy.path, bootID: "one") {}
        #expect(!store.environment.machineStayedUp)
        let log = try #require(store.topic(named: "t")).partitions[0]
        // All that is left can be read.
        var nextOffset: Int64 = 0
        while nextOffset < log.endOffset {
            let batches = try StoredBatch.all(in: try log.read(from: nextOffset))
            nextOffset = batches.last?.header.nextOffset ?? log.endOffset
        }
        #expect(nextOffset == log.endOffset)
    }

    /// Opens the log, appends a record, and returns its offset.
    private func nextOffset(in directory: TestDirectory, flush: FlushPolicy, boot: String) throws -> Int64 {
        let store = try TopicStore(path: directory.path, flush: flush, bootID: boot) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        return try log.append(records("next")).baseOffset
    }

    @Test func `with FlushPolicy.os no offset is used again after a power failure`() throws {
        for nextFlush in [FlushPolicy.os, .everyAck] {
            let directory = TestDirectory(inMemory: true)
            do {
                let store = try TopicStore(path: directory.path, flush: .os, bootID: "one") {}
                let log = try store.create("t", partitions: 1).partitions[0]
                for _ in 0..<5 { try log.append(records("acknowledged")) }
            }
            // A killed process has lost nothing.
            #expect(try nextOffset(in: directory, flush: .os, boot: "one") == 5)
            let offsetAfterFailure: Int64
            do {
                let store = try TopicStore(path: directory.path, flush: nextFlush, bootID: "two") {}
                let log = try #require(store.topic(named: "t")).partitions[0]
                offsetAfterFailure = try log.append(records("next")).baseOffset
                // A topic that is created now has lost nothing, so its offsets begin at 0.
                #expect(try store.create("new", partitions: 1).partitions[0].endOffset == 0)
            }
            // Behind six records. A reader may have seen more offsets, which the power failure removed.
            #expect(offsetAfterFailure == 6 + PartitionLog.skippedOffsets)
            #expect(try nextOffset(in: directory, flush: nextFlush, boot: "two") == offsetAfterFailure + 1)
            let store = try TopicStore(path: directory.path, bootID: "two") {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            var recordCount = 0
            try log.forEachBatch(from: 0) { recordCount += $0.records.count }
            #expect(recordCount == 8, "five acknowledged records, and three after them")
            // An offset in the gap is in an empty batch.
            #expect(try StoredBatch.all(in: log.read(from: 100)).first?.records.isEmpty == true)
        }
    }

    @Test func `after an orderly stop, or with a sync for each answer, no offset is skipped`() throws {
        for flush in [FlushPolicy.os, .everyAck] {
            let directory = TestDirectory(inMemory: true)
            do {
                let store = try TopicStore(path: directory.path, flush: flush, bootID: "one") {}
                let log = try store.create("t", partitions: 1).partitions[0]
                for _ in 0..<5 { try log.append(records("v")) }
                store.settle()
                if flush == .os { try store.close() }
            }
            #expect(try nextOffset(in: directory, flush: flush, boot: "two") == 5)
        }
    }

    @Test func `segments behind damage are set aside as .cut files, which are counted and never overwritten`()
        throws
    {
        let directory = TestDirectory(inMemory: true)
        let path = try makeLog(in: directory, settings: ["segment.bytes": "200"])
        for round in 1...3 {
            do {
                let store = try TopicStore(path: directory.path, bootID: "one") {}
                let log = try #require(store.topic(named: "t")).partitions[0]
                for index in 0..<4 { try log.append(records("round \(round) \(index)")) }
                store.settle()
                try store.close()
            }
            unlink(path + "/checkpoint")
            flipBit(1, at: 70, in: path + "/00000000000000000000.log")
            let store = try TopicStore(path: directory.path, bootID: "\(round)") {}
            let names = try Disk().names(in: path).filter { $0.hasSuffix(".cut") }
            #expect(store.setAsideFileCount == names.count)
            #expect(names.count >= round)
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.setAsideFileCount == names.count)
        }
    }
}
