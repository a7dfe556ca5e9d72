import Glibc
import Telemetry
import Testing

@testable import Broker

/// Writes batches into a log's first segment as an earlier broker left them there.
func plant(_ batches: [[UInt8]], in directory: String) throws {
    let disk = Disk()
    for name in try disk.names(in: directory) { unlink(directory + "/" + name) }
    try disk.replace(Segment.path(in: directory, from: 0, suffix: "log"), with: Array(batches.joined()))
}

/// The batch as it is stored at an offset, with another time.
func stored(_ batch: [UInt8], at offset: Int64, time: Int64? = nil) -> [UInt8] {
    var header = batch.withBytes { BatchHeader(parsing: $0) }
    header.baseOffset = offset
    if let time { header.maxTimestamp = time }
    return BatchBuilder.assemble(header: header, body: Array(batch[BatchHeader.size...]))
}

/// The start of a log from the files of the last process.
struct RecoveryTests {
    private static let keeping = ["retention.ms": "-1"]

    private func make(
        _ directory: TestDirectory, _ settings: [String: String] = keeping,
        _ fill: (PartitionLog) throws -> Void = { _ in }
    ) throws -> String {
        let store = try TopicStore(path: directory.path, bootID: "one") {}
        let log = try store.create("t", partitions: 1, settings: settings).partitions[0]
        try fill(log)
        store.settle()
        try store.close()
        return log.directory
    }

    @Test(arguments: [(Int64.min, Int64(0)), (-1, 0), (7, 7), (Int64.max, at(10).milliseconds)])
    func `a stored time is believed as far as it can be`(_ time: Int64, _ arrival: Int64) throws {
        let directory = TestDirectory(inMemory: true)
        let path = try make(directory)
        try plant([stored(records("v"), at: 0, time: time)], in: path)
        let store = try TopicStore(path: directory.path, clock: { at(10) }, wake: {})
        let log = try #require(store.topic(named: "t")).partitions[0]
        #expect(log.activeSegment.firstAppendedAt == arrival)
        store.upkeep(now: at(20))
        try log.append(records("more"), now: at(21))
        store.settle()
        try log.roll()
        _ = try log.rebuiltIndex(of: log.segments[0])
        #expect(log.segments[0].firstAppendedAt == arrival)
        log.settings = try TopicSettings(overrides: [
            "cleanup.policy": "compact", "max.compaction.lag.ms": "1000", "min.cleanable.dirty.ratio": "1",
        ])
        _ = log.compactionPlan(now: at(22))
    }

    @Test func `a producer of old records is remembered after a crash`() throws {
        let directory = TestDirectory(inMemory: true)
        let batch = BatchBuilder.batch(
            [NewRecord(key: nil, value: [1])], time: 1, producerID: 5, producerEpoch: 0, baseSequence: 0)
        let path = try make(directory) { try $0.append(batch) }
        unlink(path + "/checkpoint")
        let store = try TopicStore(path: directory.path, clock: { at(10) }, wake: {})
        let log = try #require(store.topic(named: "t")).partitions[0]
        store.upkeep(now: at(20))
        #expect(try log.append(batch, now: at(21)).isDuplicate)
        #expect(log.endOffset == 1)
    }

    @Test func `a start that ended in the middle does not vouch for the machine`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try make(directory)
        func staysUp() throws -> Bool {
            try TopicStore(path: directory.path, bootID: "two") {}.environment.machineStayedUp
        }
        // Not readable as a file: the log cannot be opened.
        unlink(path + "/checkpoint")
        try Disk().makeDirectory(at: path + "/checkpoint")
        #expect(throws: TopicStoreError.self) { try staysUp() }
        rmdir(path + "/checkpoint")
        #expect(try !staysUp())
        #expect(try staysUp())
    }

    @Test func `offsets go on behind the checkpoint when the segments are lost`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try make(directory) { log in
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
        let path = try make(directory)
        var batches: [[UInt8]] = []
        for index in 0..<100 as Range<Int64> {
            var filler = BatchHeader(baseOffset: index * 50_001)
            filler.lastOffsetDelta = 49_999
            batches.append(BatchBuilder.assemble(header: filler, body: []))
            batches.append(stored(records("v"), at: index * 50_001 + 50_000))
        }
        try plant(batches, in: path)
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        for (most, expected) in [(1000, 100), (100, 100), (1, 1), (7, 7)] as [(Int64, Int64)] {
            var writer = WireWriter()
            let result = try log.read(
                from: 0, maxBytes: 1 << 20, maxRecords: most, committed: false, into: &writer)
            #expect(result.recordCount == expected)
            #expect(try StoredBatch.all(in: writer.copied()).flatMap(\.records).count == Int(expected))
            if expected == 100 { #expect(result.nextOffset == log.endOffset) }
        }
    }

    @Test func `a copy that was made within one boot is not believed to be whole`() throws {
        let original = TestDirectory(inMemory: true)
        let path = try make(original) { log in
            for index in 0..<10 { try log.append(records("v\(index)")) }
        }
        let copy = TestDirectory(inMemory: true)
        copyTree(original.path, copy.path)
        // Made while the broker wrote: a page of the log came later than the checkpoint says.
        let file = copy.path + path.dropFirst(original.path.count) + "/00000000000000000000.log"
        flip(file, 400, bit: 1)
        unlink(copy.path + path.dropFirst(original.path.count) + "/checkpoint")
        let store = try TopicStore(path: copy.path, bootID: "one") {}
        #expect(!store.environment.machineStayedUp)
        let log = try #require(store.topic(named: "t")).partitions[0]
        var read: Int64 = 0
        while read < log.endOffset {
            let batches = try StoredBatch.all(in: try log.read(from: read))
            read = batches.last?.header.nextOffset ?? log.endOffset
        }
        #expect(read == log.endOffset)
    }

    private func reopen(_ directory: TestDirectory, _ flush: FlushPolicy, boot: String) throws -> Int64 {
        let store = try TopicStore(path: directory.path, flush: flush, bootID: boot) {}
        let log = try #require(store.topic(named: "t")).partitions[0]
        return try log.append(records("next")).baseOffset
    }

    @Test func `at the system's pace no offset is used again after the machine went down`() throws {
        for next in [FlushPolicy.os, .everyAck] {
            let directory = TestDirectory(inMemory: true)
            do {
                let store = try TopicStore(path: directory.path, flush: .os, bootID: "one") {}
                let log = try store.create("t", partitions: 1).partitions[0]
                for _ in 0..<5 { try log.append(records("acknowledged")) }
            }
            // A killed process has lost nothing.
            #expect(try reopen(directory, .os, boot: "one") == 5)
            let after: Int64
            do {
                let store = try TopicStore(path: directory.path, flush: next, bootID: "two") {}
                after = try #require(store.topic(named: "t")).partitions[0].append(records("next")).baseOffset
                // A topic that is made now has lost nothing.
                #expect(try store.create("new", partitions: 1).partitions[0].endOffset == 0)
            }
            #expect(after == 6 + PartitionLog.skippedOffsets)
            #expect(try reopen(directory, next, boot: "two") == after + 1)
            let store = try TopicStore(path: directory.path, bootID: "two") {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            var values = 0
            try log.forEachBatch(from: 0) { values += $0.records.count }
            #expect(values == 8)
            #expect(try StoredBatch.all(in: log.read(from: 100)).first?.records.isEmpty == true)
        }
    }

    @Test func `an orderly stop or a sync for each answer keeps the offsets as they are`() throws {
        for flush in [FlushPolicy.os, .everyAck] {
            let directory = TestDirectory(inMemory: true)
            do {
                let store = try TopicStore(path: directory.path, flush: flush, bootID: "one") {}
                let log = try store.create("t", partitions: 1).partitions[0]
                for _ in 0..<5 { try log.append(records("v")) }
                store.settle()
                if flush == .os { try store.close() }
            }
            #expect(try reopen(directory, flush, boot: "two") == 5)
        }
    }

    @Test func `segments behind a cut are counted and never overwritten`() throws {
        let directory = TestDirectory(inMemory: true)
        let path = try make(directory, ["segment.bytes": "200"])
        for round in 1...3 {
            do {
                let store = try TopicStore(path: directory.path, bootID: "one") {}
                let log = try #require(store.topic(named: "t")).partitions[0]
                for index in 0..<4 { try log.append(records("round \(round) \(index)")) }
                store.settle()
                try store.close()
            }
            unlink(path + "/checkpoint")
            flip(path + "/00000000000000000000.log", 70, bit: 1)
            let store = try TopicStore(path: directory.path, bootID: "\(round)") {}
            let names = try Disk().names(in: path).filter { $0.hasSuffix(".cut") }
            #expect(store.setAsideFileCount == names.count)
            #expect(names.count >= round)
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.setAsideFileCount == names.count)
        }
    }
}
