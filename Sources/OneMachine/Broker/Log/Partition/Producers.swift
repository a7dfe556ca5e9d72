/// The producers of one partition, and their transactions in it. Decides which batches are duplicates,
/// out of order or fenced. Recovery gives it the stored batches in the order of their appends, so it
/// reaches the same state again.
struct Producers: Equatable {
    /// A finished transaction whose records a committed reader must not see.
    struct AbortedRange: Equatable, Sendable {
        var producerID: Int64
        var firstOffset: Int64
        var markerOffset: Int64
        /// No transaction was open below this offset when the marker came. So all transactions with later
        /// markers begin at this offset or above, and a search for offsets below it can stop here.
        var stableOffset: Int64
    }

    /// A finished transaction whose marker may not be on disk yet.
    struct FinishedTransaction: Equatable {
        var firstOffset: Int64
        var markerOffset: Int64
    }

    /// Limit for the producers of a partition. Beyond it, those that were idle for longest are forgotten.
    static let entriesMax = 100_000

    /// By producer id.
    var entries: [Int64: ProducerEntry] = [:]
    /// First offset of each open transaction, by producer id.
    var openTransactions: [Int64: Int64] = [:]
    /// In the order of their markers.
    var abortedTransactions: [AbortedRange] = []
    private(set) var finishedTransactions: [FinishedTransaction] = []

    /// The result of the check of a batch.
    enum AppendVerdict: Equatable {
        case append
        case duplicate(baseOffset: Int64, timestamp: Int64)
    }

    /// Checks a batch before it is written. An unknown producer may begin with any sequence, because its
    /// state may have been removed with its records.
    func checkAppend(_ header: BatchHeader) throws(LogError) -> AppendVerdict {
        guard header.hasProducer, let entry = entries[header.producerID] else { return .append }
        if let batch = entry.duplicate(of: header) {
            return .duplicate(baseOffset: batch.baseOffset, timestamp: batch.timestamp)
        }
        guard header.producerEpoch >= entry.epoch else {
            throw .fencedProducer(
                producer: header.producerID, epoch: header.producerEpoch, current: entry.epoch)
        }
        let isNewEpoch = header.producerEpoch != entry.epoch
        // The sequences of an epoch begin at 0, so -1 comes before its first batch.
        let lastSequence = isNewEpoch ? -1 : entry.batches.last?.lastSequence ?? -1
        let expectedSequence = lastSequence == .max ? 0 : lastSequence + 1
        guard header.baseSequence == expectedSequence else {
            throw .outOfOrderSequence(
                producer: header.producerID, sequence: header.baseSequence, last: lastSequence)
        }
        guard header.isTransactional || openTransactions[header.producerID] == nil else {
            throw .invalidTransactionState(producer: header.producerID)
        }
        return .append
    }

    /// Refuses a marker of a transaction that a newer epoch of the producer has ended already.
    func checkMarker(producerID: Int64, epoch: Int16) throws(LogError) {
        guard let entry = entries[producerID], epoch < entry.epoch else { return }
        throw .fencedProducer(producer: producerID, epoch: epoch, current: entry.epoch)
    }

    /// Takes over a data batch that was written.
    mutating func recordAppend(_ header: BatchHeader, now: Int64) {
        guard header.hasProducer else { return }
        entries[header.producerID, default: ProducerEntry(epoch: header.producerEpoch, lastUsed: 0)]
            .recordAppend(header, now: now)
        if header.isTransactional, openTransactions[header.producerID] == nil {
            openTransactions[header.producerID] = header.baseOffset
        }
    }

    /// Takes over a marker that was written.
    mutating func recordMarker(
        producerID: Int64, epoch: Int16, commit: Bool, at offset: Int64, now: Int64
    ) {
        var entry = entries[producerID] ?? ProducerEntry(epoch: epoch, lastUsed: now)
        if epoch != entry.epoch {
            entry.epoch = epoch
            entry.batches = []
        }
        entry.lastUsed = max(entry.lastUsed, now)
        entries[producerID] = entry
        guard let firstOffset = openTransactions.removeValue(forKey: producerID) else { return }
        finishedTransactions.append(.init(firstOffset: firstOffset, markerOffset: offset))
        guard !commit else { return }
        let stableOffset = min(offset, firstOpenOffset ?? offset)
        abortedTransactions.append(
            .init(
                producerID: producerID, firstOffset: firstOffset, markerOffset: offset,
                stableOffset: stableOffset))
    }
}

extension Producers {
    /// First offset of the oldest open transaction.
    var firstOpenOffset: Int64? { openTransactions.values.min() }

    /// Returns the offset at which committed readers must stop. A transaction whose marker is not below
    /// the high watermark counts as open; the others are forgotten.
    mutating func stableOffset(highWatermark: Int64) -> Int64 {
        finishedTransactions.removeAll { $0.markerOffset < highWatermark }
        let firstUnstable = finishedTransactions.lazy.map(\.firstOffset).min() ?? highWatermark
        return min(highWatermark, firstUnstable, firstOpenOffset ?? highWatermark)
    }

    /// Returns the aborted transactions with records in the range.
    func aborted(from: Int64, to: Int64) -> [AbortedRange] {
        var low = 0
        var high = abortedTransactions.count
        while low < high {
            let middle = (low + high) / 2
            if abortedTransactions[middle].markerOffset < from { low = middle + 1 } else { high = middle }
        }
        var transactions: [AbortedRange] = []
        for transaction in abortedTransactions[low...] {
            if transaction.firstOffset < to { transactions.append(transaction) }
            if transaction.stableOffset >= to { break }
        }
        return transactions
    }

    /// Forgets aborted transactions that lie below the log's start.
    mutating func forget(below offset: Int64) {
        abortedTransactions.removeAll { $0.markerOffset < offset }
    }

    /// Forgets producers that were last used before `time` (milliseconds since 1970). If more than the
    /// limit remain, forgets those that were idle for longest. A producer with an open transaction stays.
    mutating func expire(usedBefore time: Int64) {
        entries = entries.filter { $0.value.lastUsed >= time || openTransactions[$0.key] != nil }
        guard entries.count > Self.entriesMax else { return }
        let surplusCount = entries.count - Self.entriesMax
        let idleLongest = entries.filter { openTransactions[$0.key] == nil }
            .sorted { $0.value.lastUsed < $1.value.lastUsed }
        for (id, _) in idleLongest.prefix(surplusCount) { entries[id] = nil }
    }
}
