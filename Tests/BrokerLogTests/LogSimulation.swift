import Glibc
import Simulation
import Telemetry
import Testing

@testable import Broker

/// A random history of one log, with appends, transactions, syncs, upkeep, failures, crashes and restarts. After each
/// step the log must have the records of a `LogModel`. The same seed gives the same history.
final class LogSimulation {
    /// The settings of a history.
    struct Shape {
        /// The settings of the topic.
        var settings: [String: String] = ["segment.bytes": "600"]
        var flush = FlushPolicy.everyAck
        /// Whether a crash also loses the bytes that were not synced.
        var losesPower = false
        var steps = 40
    }

    private let directory = TestDirectory(inMemory: true)
    private let shape: Shape
    private let seed: UInt64
    private var random: SeededGenerator
    private let faultyDisk: FaultyDisk
    private var store: TopicStore!
    private var log: PartitionLog!
    private var model = LogModel()
    private var transactions: [LogModel.Transaction] = []
    private var nowMilliseconds: Int64 = 1_700_000_000_000
    /// The next sequence of each producer id. Producers with an odd id are transactional.
    private var nextSequences: [Int64: Int32] = [:]
    /// The newest batch of each producer id, for repetitions.
    private var lastBatches: [Int64: (bytes: [UInt8], offset: Int64, end: Int64)] = [:]
    /// The number of power failures. Each is followed by a boot of the machine.
    private var powerFailureCount = 0
    /// Whether a sync failed before the process died. Then records without an acknowledgement may be lost.
    private var syncFailed = false
    /// The append that a crash interrupted. Its records may be in the log afterwards, or not.
    private var interrupted: InterruptedAppend?

    private enum InterruptedAppend {
        case batch([LogModel.Entry])
        case marker(LogModel.Entry, commit: Bool)
    }

    private var isCompacted: Bool { shape.settings["cleanup.policy"] == "compact" }
    /// The time for which compaction keeps tombstones and markers.
    private var graceMilliseconds: Int64 { Int64(shape.settings["delete.retention.ms"] ?? "86400000")! }

    init(seed: UInt64, shape: Shape) {
        self.seed = seed
        self.shape = shape
        random = SeededGenerator(seed: seed)
        faultyDisk = FaultyDisk(seed: seed)
    }

    /// Runs the history. Differences from the model are recorded as issues.
    func run() throws {
        try openStore(create: true)
        for _ in 0..<shape.steps {
            do {
                try takeRandomStep()
                if !faultyDisk.isDead { try compareWithModel() }
            } catch {
                guard faultyDisk.isDead else { throw error }
            }
            guard faultyDisk.isDead else { continue }
            try crash()
            try compareWithModel()
        }
    }

    private func randomNumber(below limit: Int) -> Int { Int(random.next(upperBound: UInt64(limit))) }

    private func openStore(create: Bool = false) throws {
        store = try TopicStore(
            path: directory.path + "/data", flush: shape.flush, disk: faultyDisk.disk, openSegmentsMax: 3,
            bootID: "boot \(powerFailureCount)"
        ) {}
        if create {
            log = try store.create("t", partitions: 1, settings: shape.settings).partitions[0]
        } else {
            log = try #require(store.topic(named: "t")).partitions[0]
        }
    }

    private func takeRandomStep() throws {
        nowMilliseconds += Int64(randomNumber(below: 2000))
        switch randomNumber(below: 20) {
        case 0..<8: try append()
        case 8, 9: try endTransaction()
        case 10: try repeatBatch()
        case 11..<14: store.settle(at: WallTime(milliseconds: nowMilliseconds))
        case 14: upkeep()
        case 15: nowMilliseconds += Int64(randomNumber(below: 100_000))
        case 16: faultyDisk.die(after: 1 + randomNumber(below: 25))
        case 17: try failWrite()
        case 18: try failSync()
        default: try restart()
        }
    }

    /// Appends a batch of a random producer; -1 stands for a producer that is not idempotent.
    private func append() throws {
        let producer = Int64(randomNumber(below: 5)) - 1
        let isTransactional = producer > 0 && producer % 2 == 1
        let entries = randomEntries(of: producer, fate: isTransactional ? .open : .plain)
        let sequence = nextSequences[producer] ?? 0
        let plain = BatchBuilder.batch(
            entries.map { entry in
                NewRecord(key: Array(entry.key.utf8), value: entry.value.map { Array($0.utf8) })
            }, time: nowMilliseconds, producerID: producer, producerEpoch: producer < 0 ? -1 : 0,
            baseSequence: producer < 0 ? -1 : sequence, transactional: isTransactional)
        let codecs: [Codec] = [.none, .gzip, .lz4, .zstd]
        let bytes = recompressed(plain, with: codecs[randomNumber(below: 4)])
        let expected = Int64(model.entries.count)
        let appended: AppendResult
        do {
            appended = try log.append(bytes, now: WallTime(milliseconds: nowMilliseconds))
        } catch {
            // A torn write that was not cut off may still be whole to the last byte after a crash.
            if faultyDisk.isDead { interrupted = .batch(entries) }
            throw error
        }
        #expect(appended.baseOffset == expected, "seed \(seed)")
        model.entries += entries
        if producer >= 0 {
            nextSequences[producer] = sequence + Int32(entries.count)
            lastBatches[producer] = (bytes, appended.baseOffset, appended.nextOffset)
        }
        let end = appended.nextOffset
        log.whenDurable(upTo: end) { [unowned self] error in
            if error == nil { model.acknowledged = max(model.acknowledged, end) }
        }
    }

    /// Returns one to three entries with a random key, and with a random value or none.
    private func randomEntries(of producer: Int64, fate: LogModel.Fate) -> [LogModel.Entry] {
        let count = 1 + randomNumber(below: 3)
        return (0..<count).map { _ in
            let key = "k\(randomNumber(below: 6))"
            let isTombstone = randomNumber(below: 5) == 0
            let value = isTombstone ? nil : "v\(randomNumber(below: 1 << 40))"
            return LogModel.Entry(
                key: key, value: value, producer: producer, fate: fate, time: nowMilliseconds)
        }
    }

    private func endTransaction() throws {
        let producers = ([1, 3] as [Int64]).filter { producer in
            model.entries.contains { $0.producer == producer && $0.fate == .open }
        }
        guard let producer = producers.randomElement(using: &random) else { return }
        let commit = randomNumber(below: 2) == 0
        let marker = LogModel.Entry(
            key: "", value: nil, producer: producer, fate: .marker, time: nowMilliseconds)
        do {
            _ = try log.appendMarker(
                producerID: producer, epoch: 0, commit: commit, now: WallTime(milliseconds: nowMilliseconds))
        } catch {
            if faultyDisk.isDead { interrupted = .marker(marker, commit: commit) }
            throw error
        }
        finish(marker, commit: commit)
    }

    /// Adds a marker to the model, with the outcome of its transaction.
    private func finish(_ marker: LogModel.Entry, commit: Bool) {
        let offset = Int64(model.entries.count)
        let start = model.entries.firstIndex { $0.producer == marker.producer && $0.fate == .open }
        model.entries.append(marker)
        guard let start else { return }
        for index in model.entries.indices
        where model.entries[index].producer == marker.producer && model.entries[index].fate == .open {
            model.entries[index].fate = commit ? .committed : .aborted
        }
        transactions.append(.init(producer: marker.producer, start: Int64(start), end: offset))
    }

    private func repeatBatch() throws {
        guard let producer = lastBatches.keys.sorted().randomElement(using: &random),
            let last = lastBatches[producer]
        else { return }
        let repeated = try log.append(last.bytes, now: WallTime(milliseconds: nowMilliseconds))
        #expect(repeated.isDuplicate, "seed \(seed)")
        #expect(repeated.baseOffset == last.offset, "seed \(seed)")
        #expect(log.endOffset == model.entries.count, "seed \(seed)")
        log.whenDurable(upTo: repeated.nextOffset) { [unowned self] error in
            if error == nil { model.acknowledged = max(model.acknowledged, last.end) }
        }
    }

    private func upkeep() {
        let time = WallTime(milliseconds: nowMilliseconds)
        store.settle(at: time)
        store.upkeep(now: time)
        while store.worker.runOnce() {}
        store.deliver(now: time)
        store.settle(at: time)
    }

    private func failWrite() throws {
        faultyDisk.failNext(
            .write, with: .tear(bytes: randomNumber(below: 80), errno: ENOSPC))
        do {
            try append()
        } catch let error as LogError {
            #expect(error.code == .kafkaStorageError, "seed \(seed): \(error)")
            if faultyDisk.isDead { throw error }
        }
        faultyDisk.clearFailure()
    }

    private func failSync() throws {
        try append()
        syncFailed = true
        faultyDisk.failNext(.sync, with: .fail(EIO))
        store.settle(at: WallTime(milliseconds: nowMilliseconds))
        faultyDisk.clearFailure()
        guard !faultyDisk.isDead else { return }
        cutModel(to: log.endOffset, atLeast: model.acknowledged)
        syncFailed = false
    }

    private func restart() throws {
        try store.close()
        #expect(log.durableOffset == model.entries.count, "seed \(seed)")
        model.acknowledged = Int64(model.entries.count)
        log = nil
        store = nil
        try openStore()
        #expect(log.endOffset == model.entries.count, "seed \(seed)")
    }

    /// Opens the log of a dead process with a new one. Perhaps the machine loses power between the two, and the log
    /// loses bytes that were not synced.
    private func crash() throws {
        log = nil
        store = nil
        let losesPower = shape.losesPower && randomNumber(below: 2) == 0
        if losesPower {
            faultyDisk.losePower()
            powerFailureCount += 1
        }
        let entryCount = model.entries.count
        faultyDisk.revive()
        try openStore()
        if log.endOffset > entryCount {
            switch interrupted {
            case .batch(let entries): model.entries += entries
            case .marker(let marker, let commit): finish(marker, commit: commit)
            case nil: break
            }
        }
        interrupted = nil
        // The pages of a dead process stay in the system, so each append that returned is in the log.
        let mayLose = losesPower || syncFailed
        cutModel(to: log.endOffset, atLeast: mayLose ? model.acknowledged : Int64(entryCount))
        syncFailed = false
        // A start shows all records that it found to readers, so they count as acknowledged.
        model.acknowledged = log.highWatermark
    }

    /// Cuts the model at the end of a log that lost its unsynced records.
    private func cutModel(to end: Int64, atLeast safeEnd: Int64) {
        #expect(end >= safeEnd, "seed \(seed): \(safeEnd) records were safe, but \(end) remain")
        #expect(end <= model.entries.count, "seed \(seed)")
        model.cut(to: end, transactions: transactions)
        transactions.removeAll { $0.end >= end }
        model.acknowledged = min(model.acknowledged, end)
        nextSequences = [:]
        for (id, entry) in log.producers.entries {
            if let last = entry.batches.last { nextSequences[id] = last.lastSequence + 1 }
        }
        lastBatches = lastBatches.filter { $0.value.offset < end }
    }

    private func compareWithModel() throws {
        #expect(log.endOffset == model.entries.count, "seed \(seed)")
        if log.highWatermark == log.endOffset {
            #expect(log.lastStableOffset == model.stableOffset, "seed \(seed)")
        }
        try compareRead(committed: false)
        try compareRead(committed: true)
    }

    /// Reads the whole log in pieces of a random size.
    ///
    /// - Parameter committed: Whether the reader gets only committed records.
    private func compareRead(committed: Bool) throws {
        var offset = log.logStartOffset
        let limit = committed ? log.lastStableOffset : log.highWatermark
        var found: [Int64: StoredBatch.Record] = [:]
        while offset < limit {
            var writer = WireWriter()
            let result = try log.read(
                from: offset, maxBytes: 1 + randomNumber(below: 900), committed: committed,
                into: &writer)
            let batches = try StoredBatch.all(in: writer.copied())
            let records =
                committed
                ? committedRecords(batches, aborted: result.abortedTransactions)
                : batches.flatMap { $0.header.isControl ? [] : $0.records }
            for record in records where record.offset >= log.logStartOffset { found[record.offset] = record }
            try #require(result.nextOffset > offset, "seed \(seed): a read makes no progress at \(offset)")
            offset = result.nextOffset
        }
        compare(found, committed: committed, limit: limit)
    }

    private func compare(_ found: [Int64: StoredBatch.Record], committed: Bool, limit: Int64) {
        for offset in log.logStartOffset..<max(limit, log.logStartOffset) {
            let entry = model.entries[Int(offset)]
            if entry.fate == .marker || (committed && entry.fate == .aborted) {
                if found[offset] != nil { Issue.record("seed \(seed): offset \(offset) must not be seen") }
            } else if let record = found[offset] {
                let isRight = record.keyText == entry.key && record.valueText == entry.value
                if !isRight { Issue.record("seed \(seed): offset \(offset) is \(record) and not \(entry)") }
            } else if !mayBeMissing(offset) {
                Issue.record("seed \(seed): offset \(offset) \(entry) is missing of \(model.entries.count)")
            }
        }
    }

    /// Whether compaction may have removed the record at `offset`.
    private func mayBeMissing(_ offset: Int64) -> Bool {
        guard isCompacted else { return false }
        return model.mayBeMissing(offset) { $0 + graceMilliseconds <= nowMilliseconds }
    }
}
