import Glibc
import Telemetry
import Testing

@testable import Broker

/// One flipped bit at each position of a segment. A running log, a start after a clean stop and a start after a kill
/// each report it, and no reader gets a wrong record.
struct DamageTests {
    /// When the bit flips: below a running log, or before a start.
    enum Moment: CaseIterable { case running, restarted, killed, killedWithoutSummaries }

    private static let settings = ["segment.bytes": "330"]

    /// A log of a few segments with a compressed batch and a transaction in it.
    private func fill(_ log: PartitionLog) throws {
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

    private func open(_ path: String, metrics: Metrics = Metrics()) throws -> (TopicStore, PartitionLog) {
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

    @Test(arguments: Moment.allCases)
    func `a flipped bit is reported and never served`(_ moment: Moment) throws {
        let original = TestDirectory(inMemory: true)
        var (store, log): (TopicStore?, PartitionLog?) = try open(original.path)
        try fill(log!)
        store!.settle()
        let expected = readAll(log!).records
        let end = log!.endOffset
        let directory = log!.directory
        if moment == .restarted { try store!.close() }
        let segments = try Disk().names(in: directory).filter { $0.hasSuffix(".log") }
        #expect(segments.count >= 3)
        for segment in segments {
            let path = directory + "/" + segment
            let bytes = try #require(try Disk().contents(of: path))
            for position in bytes.indices {
                if moment != .running {
                    log = nil
                    store = nil
                }
                let copy = TestDirectory(inMemory: true)
                if moment != .running { copyTree(at: original.path, to: copy.path) }
                let damagedPath = moment == .running ? path : copy.path + path.dropFirst(original.path.count)
                if moment == .killedWithoutSummaries {
                    for name in try Disk().names(in: copy.path + directory.dropFirst(original.path.count))
                    where !name.hasSuffix(".log") {
                        unlink(copy.path + directory.dropFirst(original.path.count) + "/" + name)
                    }
                }
                flipBit(position % 8, at: position, in: damagedPath)
                defer { if moment == .running { flipBit(position % 8, at: position, in: damagedPath) } }
                let metrics = Metrics()
                let counters = LogCounters(metrics: metrics)
                let opened = moment == .running ? (store!, log!) : try open(copy.path, metrics: metrics)
                let read = readAll(opened.1)
                let context = "\(moment) \(segment) byte \(position)"
                for (offset, record) in read.records where record != expected[offset] {
                    Issue.record("\(context): offset \(offset) is \(record)")
                }
                let reported = counters.damaged.value + counters.recoveredBytesCut.value + read.refusedCount
                if reported == 0 { Issue.record("\(context): not reported") }
                // Only the damaged batch is lost. At the end of the log, a start takes it for a torn append.
                let isTail = opened.1.endOffset < end
                let lostCount = expected.count - read.records.count
                if lostCount > 3 || (isTail && end - opened.1.endOffset > 3) {
                    Issue.record(
                        "\(context): \(lostCount) records are lost, the log ends at \(opened.1.endOffset)")
                }
            }
        }
    }

    @Test func `a flipped bit in a file that can be made again loses no record`() throws {
        let original = TestDirectory(inMemory: true)
        var expected: [Int64: StoredBatch.Record] = [:]
        var directory = ""
        do {
            let (store, log) = try open(original.path)
            try fill(log)
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
                let read = readAll(try open(copy.path).1)
                if read.records != expected || read.refusedCount > 0 {
                    Issue.record(
                        "\(name) byte \(position): \(read.records.count) of \(expected.count) records")
                }
            }
        }
    }
}

/// Flips a bit of the byte at a position.
func flipBit(_ bit: Int, at position: Int, in path: String) {
    let descriptor = Glibc.open(path, O_RDWR)
    var byte: UInt8 = 0
    pread(descriptor, &byte, 1, position)
    byte ^= 1 << UInt8(bit)
    pwrite(descriptor, &byte, 1, position)
    close(descriptor)
}

/// Copies a file, or a directory with all its files.
func copyTree(at source: String, to target: String) {
    guard let names = try? Disk().names(in: source) else {
        let bytes = (try? Disk().contents(of: source)).flatMap { $0 } ?? []
        let descriptor = Glibc.open(target, O_WRONLY | O_CREAT, 0o644)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return
    }
    mkdir(target, 0o755)
    for name in names { copyTree(at: source + "/" + name, to: target + "/" + name) }
}
