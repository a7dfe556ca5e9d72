import Glibc
import Telemetry
import Testing

@testable import Broker

/// A flipped bit anywhere in a segment, met by a running log, by a start after a clean end and by a
/// start after a kill: it is reported, and no reader gets a wrong record.
struct DamageTests {
    enum Life: CaseIterable { case running, restarted, killed, killedWithoutSummaries }

    private static let settings = ["segment.bytes": "330"]

    /// A log of a few segments with a compressed batch and a transaction in it.
    private func fill(_ log: PartitionLog) throws {
        for index in 0..<4 {
            try log.append(records("value \(index)", "second", key: "k"))
        }
        try log.append(recompressed(records("squeezed", "squeezed", "squeezed", key: "z"), .zstd))
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

    /// Every record that can be read, by offset, and whether any read was refused.
    private func readAll(_ log: PartitionLog) -> (records: [Int64: StoredBatch.Record], refused: Int) {
        var records: [Int64: StoredBatch.Record] = [:]
        var refused = 0
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
                refused += 1
                offset += 1
            }
        }
        return (records, refused)
    }

    @Test(arguments: Life.allCases)
    func `a flipped bit is reported and never served`(_ life: Life) throws {
        let original = TestDirectory(inMemory: true)
        var (store, log): (TopicStore?, PartitionLog?) = try open(original.path)
        try fill(log!)
        store!.settle()
        let good = readAll(log!).records
        let end = log!.endOffset
        let directory = log!.directory
        if life == .restarted { try store!.close() }
        let segments = try Disk().names(in: directory).filter { $0.hasSuffix(".log") }
        #expect(segments.count >= 3)
        for segment in segments {
            let path = directory + "/" + segment
            let bytes = try #require(try Disk().contents(of: path))
            for position in bytes.indices {
                if life != .running {
                    log = nil
                    store = nil
                }
                let copy = TestDirectory(inMemory: true)
                if life != .running { copyTree(original.path, copy.path) }
                let victim = life == .running ? path : copy.path + path.dropFirst(original.path.count)
                if life == .killedWithoutSummaries {
                    for name in try Disk().names(in: copy.path + directory.dropFirst(original.path.count))
                    where !name.hasSuffix(".log") {
                        unlink(copy.path + directory.dropFirst(original.path.count) + "/" + name)
                    }
                }
                flip(victim, position, bit: position % 8)
                defer { if life == .running { flip(victim, position, bit: position % 8) } }
                let metrics = Metrics()
                let counters = LogCounters(metrics: metrics)
                let opened = life == .running ? (store!, log!) : try open(copy.path, metrics: metrics)
                let read = readAll(opened.1)
                let place = "\(life) \(segment) byte \(position)"
                for (offset, record) in read.records where record != good[offset] {
                    Issue.record("\(place): offset \(offset) is \(record)")
                }
                let reported = counters.damaged.value + counters.recoveredBytesCut.value + read.refused
                if reported == 0 { Issue.record("\(place): not reported") }
                // Only the damaged batch is lost, or, at the very end, it is taken for a torn append.
                let isTail = opened.1.endOffset < end
                let lost = good.count - read.records.count
                if lost > 3 || (isTail && end - opened.1.endOffset > 3) {
                    Issue.record("\(place): \(lost) records are lost, the log ends at \(opened.1.endOffset)")
                }
            }
        }
    }

    @Test func `a flipped bit in a file of our own costs time and no record`() throws {
        let original = TestDirectory(inMemory: true)
        var good: [Int64: StoredBatch.Record] = [:]
        var directory = ""
        do {
            let (store, log) = try open(original.path)
            try fill(log)
            store.settle()
            good = readAll(log).records
            directory = String(log.directory.dropFirst(original.path.count))
            try store.close()
        }
        for name in try Disk().names(in: original.path + directory) where !name.hasSuffix(".log") {
            let size = try #require(try Disk().contents(of: original.path + directory + "/" + name)).count
            for position in 0..<size {
                let copy = TestDirectory(inMemory: true)
                copyTree(original.path, copy.path)
                flip(copy.path + directory + "/" + name, position, bit: position % 8)
                let read = readAll(try open(copy.path).1)
                if read.records != good || read.refused > 0 {
                    Issue.record("\(name) byte \(position): \(read.records.count) of \(good.count) records")
                }
            }
        }
    }
}

func flip(_ path: String, _ position: Int, bit: Int) {
    let descriptor = Glibc.open(path, O_RDWR)
    var byte: UInt8 = 0
    pread(descriptor, &byte, 1, position)
    byte ^= 1 << UInt8(bit)
    pwrite(descriptor, &byte, 1, position)
    close(descriptor)
}

func copyTree(_ from: String, _ to: String) {
    guard let names = try? Disk().names(in: from) else {
        let bytes = (try? Disk().contents(of: from)).flatMap { $0 } ?? []
        let descriptor = Glibc.open(to, O_WRONLY | O_CREAT, 0o644)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return
    }
    mkdir(to, 0o755)
    for name in names { copyTree(from + "/" + name, to + "/" + name) }
}
