import Glibc
import Telemetry
import Testing

@testable import Broker

/// One flipped bit at each byte of a segment. A running log, a start after a clean stop and a start after a kill each
/// report it, and no reader gets a wrong record. To report is to refuse a read, or to count damage or cut bytes in the
/// metrics.
struct DamageTests {
    /// When the bit flips: in the files of a running log, or before a start. The start follows a close, a kill, or a
    /// kill with the loss of all files but the segments.
    enum Moment: CaseIterable { case running, restarted, killed, killedWithoutSummaries }

    private typealias OpenLog = (store: TopicStore, log: PartitionLog)

    /// So small that the log has at least three segments.
    private static let settings = ["segment.bytes": "330"]
    /// The compressed batch has the most records.
    private static let recordsPerBatchMax = 3

    /// Appends batches for a few segments, with a compressed batch and a transaction in them.
    private func appendBatches(to log: PartitionLog) throws {
        for index in 0..<4 {
            try log.append(records("value \(index)", "second", key: "k"))
        }
        try log.append(recompressed(records("squeezed", "squeezed", "squeezed", key: "z"), with: .zstd))
        let batch = BatchBuilder.batch(
            [NewRecord(key: [1], value: [2])], time: noon.milliseconds, producerID: 9, producerEpoch: 0,
            baseSequence: 0, transactional: true)
        try log.append(batch)
        _ = try log.appendMarker(producerID: 9, epoch: 0, commit: true, now: noon)
        try log.append(records("last"))
    }

    /// Opens the store, and its topic "t", which the first open creates. All copies of a store have one boot and one
    /// directory identity, so a start takes their files for those of a killed process.
    private func open(_ path: String, metrics: Metrics = Metrics()) throws -> OpenLog {
        let store = try TopicStore(path: path, metrics: metrics, bootID: "same", directoryIdentity: "here") {}
        if let topic = store.topic(named: "t") { return (store, topic.partitions[0]) }
        return (store, try store.create("t", partitions: 1, settings: Self.settings).partitions[0])
    }

    /// Returns each record that can be read, by its offset, and the number of offsets that could not be read.
    private func readAll(_ log: PartitionLog) -> (records: [Int64: StoredBatch.Record], refusedCount: Int) {
        var records: [Int64: StoredBatch.Record] = [:]
        var refusedCount = 0
        var offset = log.logStartOffset
        while offset < log.highWatermark {
            var writer = WireWriter()
            do {
                let result = try log.read(from: offset, maxBytes: 1 << 20, committed: false, into: &writer)
                for batch in try StoredBatch.all(in: writer.copied()) where !batch.header.isControl {
                    for record in batch.records { records[record.offset] = record }
                }
                offset = result.nextOffset
            } catch {
                refusedCount += 1
                offset += 1
            }
        }
        return (records, refusedCount)
    }

    /// The records that readers of a filled log must get, and the place of its files.
    private struct FilledLog {
        let records: [Int64: StoredBatch.Record]
        let endOffset: Int64
        /// The log's directory within the store's.
        let directory: String
    }

    /// Fills a log, and makes it durable.
    private func fill(_ running: OpenLog, in original: TestDirectory) throws -> FilledLog {
        try appendBatches(to: running.log)
        running.store.settle()
        return FilledLog(
            records: readAll(running.log).records, endOffset: running.log.endOffset,
            directory: String(running.log.directory.dropFirst(original.path.count)))
    }

    @Test(arguments: Moment.allCases)
    func `a flipped bit is reported and never served`(_ moment: Moment) throws {
        let original = TestDirectory(inMemory: true)
        var running: OpenLog? = try open(original.path)
        let filled = try fill(running!, in: original)
        if moment == .restarted { try running!.store.close() }
        // Without a close, this is a kill.
        if moment != .running { running = nil }
        let segments = try Disk().names(in: original.path + filled.directory).filter { $0.hasSuffix(".log") }
        #expect(segments.count >= 3)
        for segment in segments {
            let path = filled.directory + "/" + segment
            let byteCount = try #require(try Disk().contents(of: original.path + path)).count
            for position in 0..<byteCount {
                let context = "\(moment) \(segment) byte \(position)"
                if let running {
                    flipBit(position % 8, at: position, in: original.path + path)
                    expectDamageReported(in: running, metrics: Metrics(), of: filled, context: context)
                    flipBit(position % 8, at: position, in: original.path + path)
                } else {
                    let copy = TestDirectory(inMemory: true)
                    copyTree(at: original.path, to: copy.path)
                    if moment == .killedWithoutSummaries {
                        try removeSummaries(in: copy.path + filled.directory)
                    }
                    flipBit(position % 8, at: position, in: copy.path + path)
                    let metrics = Metrics()
                    let opened = try open(copy.path, metrics: metrics)
                    expectDamageReported(in: opened, metrics: metrics, of: filled, context: context)
                }
            }
        }
    }

    /// Removes the files that a start can make again from the segments.
    private func removeSummaries(in directory: String) throws {
        for name in try Disk().names(in: directory) where !name.hasSuffix(".log") {
            unlink(directory + "/" + name)
        }
    }

    /// Expects that the damage of a batch is reported, that no reader gets a wrong record, and that only the damaged
    /// batch is lost.
    ///
    /// - Parameter metrics: The metrics of a start. For a running log they count nothing, so its reads must report.
    private func expectDamageReported(
        in opened: OpenLog, metrics: Metrics, of filled: FilledLog, context: String
    ) {
        let counters = LogCounters(metrics: metrics)
        let read = readAll(opened.log)
        for (offset, record) in read.records where record != filled.records[offset] {
            Issue.record("\(context): offset \(offset) is \(record)")
        }
        let reportCount = counters.damaged.value + counters.recoveredBytesCut.value + read.refusedCount
        if reportCount == 0 { Issue.record("\(context): not reported") }
        // At the end of the log, a start takes the damaged batch for a torn append, and cuts it.
        let cutCount = filled.endOffset - opened.log.endOffset
        let lostCount = filled.records.count - read.records.count
        if lostCount > Self.recordsPerBatchMax || cutCount > Self.recordsPerBatchMax {
            Issue.record("\(context): \(lostCount) records are lost, the log ends at \(opened.log.endOffset)")
        }
    }

    @Test func `a flipped bit in a file that can be made again loses no record`() throws {
        let original = TestDirectory(inMemory: true)
        var expected: [Int64: StoredBatch.Record] = [:]
        var directory = ""
        do {
            let (store, log) = try open(original.path)
            try appendBatches(to: log)
            store.settle()
            expected = readAll(log).records
            directory = String(log.directory.dropFirst(original.path.count))
            try store.close()
        }
        for name in try Disk().names(in: original.path + directory) where !name.hasSuffix(".log") {
            let size = try #require(try Disk().contents(of: original.path + directory + "/" + name)).count
            for position in 0..<size {
                let copy = TestDirectory(inMemory: true)
                copyTree(at: original.path, to: copy.path)
                flipBit(position % 8, at: position, in: copy.path + directory + "/" + name)
                let read = readAll(try open(copy.path).log)
                if read.records != expected || read.refusedCount > 0 {
                    Issue.record(
                        "\(name) byte \(position): \(read.records.count) of \(expected.count) records")
                }
            }
        }
    }
}
