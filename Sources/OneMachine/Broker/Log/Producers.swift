/// The producers of one partition. It decides which batches are duplicates, out of order or fenced, and
/// knows the open and aborted transactions. It is a value without I/O: the log and its recovery feed it
/// the same events and reach the same state.
struct Producers: Equatable {
    /// A finished transaction whose records a committed reader must not see.
    struct AbortedRange: Equatable, Sendable {
        var producerID: Int64
        var firstOffset: Int64
        /// The marker's offset.
        var lastOffset: Int64
        /// Below this offset no transaction was open when the marker came, so a search can stop here.
        var stableOffset: Int64
    }

    /// A finished transaction whose marker may not be on disk yet.
    struct FinishedTransaction: Equatable {
        var firstOffset: Int64
        var markerOffset: Int64
    }

    /// Limit for the producers of a partition. Beyond it, the one idle for longest is forgotten.
    static let entriesMax = 100_000

    var entries: [Int64: ProducerEntry] = [:]
    /// First offset of each open transaction, by producer id.
    var open: [Int64: Int64] = [:]
    /// By marker offset.
    var aborted: [AbortedRange] = []
    private(set) var finished: [FinishedTransaction] = []

    enum AppendVerdict: Equatable {
        case append
        case duplicate(baseOffset: Int64, timestamp: Int64)
    }

    /// Judges a batch before it is written. An unknown producer may begin anywhere: its state may
    /// have been removed with its records.
    func checkAppend(_ header: BatchHeader) throws(LogError) -> AppendVerdict {
        guard header.hasProducer, let entry = entries[header.producerID] else { return .append }
        if let batch = entry.duplicate(of: header) {
            return .duplicate(baseOffset: batch.baseOffset, timestamp: batch.timestamp)
        }
        guard header.producerEpoch >= entry.epoch else {
            throw .fencedProducer(
                producer: header.producerID, epoch: header.producerEpoch, current: entry.epoch)
        }
        let last = header.producerEpoch == entry.epoch ? entry.batches.last?.lastSequence ?? -1 : -1
        guard header.baseSequence == (last == .max ? 0 : last + 1) else {
            throw .outOfOrderSequence(producer: header.producerID, got: header.baseSequence, last: last)
        }
        guard header.isTransactional || open[header.producerID] == nil else {
            throw .invalidTransactionState(producer: header.producerID)
        }
        return .append
    }

    func checkMarker(producerID: Int64, epoch: Int16) throws(LogError) {
        guard let entry = entries[producerID], epoch < entry.epoch else { return }
        throw .fencedProducer(producer: producerID, epoch: epoch, current: entry.epoch)
    }

    /// Takes over a data batch that was written.
    mutating func recordAppend(_ header: BatchHeader, now: Int64) {
        guard header.hasProducer else { return }
        entries[header.producerID, default: ProducerEntry(epoch: header.producerEpoch, lastUsed: 0)]
            .recordAppend(header, now: now)
        if header.isTransactional, open[header.producerID] == nil {
            open[header.producerID] = header.baseOffset
        }
    }

    /// Takes over a marker that was written.
    mutating func recordMarker(
        producerID: Int64, epoch: Int16, commit: Bool, at offset: Int64, timestamp: Int64
    ) {
        var entry = entries[producerID] ?? ProducerEntry(epoch: epoch, lastUsed: timestamp)
        if epoch != entry.epoch {
            entry.epoch = epoch
            entry.batches = []
        }
        entry.lastUsed = max(entry.lastUsed, timestamp)
        entries[producerID] = entry
        guard let start = open.removeValue(forKey: producerID) else { return }
        finished.append(.init(firstOffset: start, markerOffset: offset))
        guard !commit else { return }
        let stable = min(offset, firstOpenOffset ?? offset)
        aborted.append(
            .init(producerID: producerID, firstOffset: start, lastOffset: offset, stableOffset: stable))
    }
}

extension Producers {
    /// First offset of the oldest open transaction.
    var firstOpenOffset: Int64? { open.values.min() }

    /// Returns the offset at which committed readers must stop. A marker above the high watermark does
    /// not end its transaction yet.
    mutating func stableOffset(highWatermark: Int64) -> Int64 {
        finished.removeAll { $0.markerOffset < highWatermark }
        let unfinished = finished.lazy.map(\.firstOffset).min() ?? highWatermark
        return min(highWatermark, unfinished, firstOpenOffset ?? highWatermark)
    }

    /// Returns the aborted transactions with records in the range.
    func aborted(from: Int64, to: Int64) -> [AbortedRange] {
        var low = 0
        var high = aborted.count
        while low < high {
            let middle = (low + high) / 2
            if aborted[middle].lastOffset < from { low = middle + 1 } else { high = middle }
        }
        var found: [AbortedRange] = []
        for each in aborted[low...] {
            if each.firstOffset < to { found.append(each) }
            if each.stableOffset >= to { break }
        }
        return found
    }

    /// Forgets aborted transactions that lie below the log's start.
    mutating func forget(below offset: Int64) {
        aborted.removeAll { $0.lastOffset < offset }
    }

    /// Forgets producers without an open transaction that were last used before `time`, and the
    /// oldest of too many.
    mutating func expire(usedBefore time: Int64) {
        entries = entries.filter { $0.value.lastUsed >= time || open[$0.key] != nil }
        guard entries.count > Self.entriesMax else { return }
        let surplus = entries.count - Self.entriesMax
        let oldest = entries.filter { open[$0.key] == nil }.sorted { $0.value.lastUsed < $1.value.lastUsed }
        for (id, _) in oldest.prefix(surplus) { entries[id] = nil }
    }
}
