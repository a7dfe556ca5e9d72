@testable import Broker

/// The model of a log, with which `LogSimulation` compares a real one: every appended record by offset, with the
/// outcome of its transaction.
struct LogModel {
    /// The outcome of a record: it belongs to no transaction, or to one that is open, committed or aborted. A marker
    /// ends a transaction.
    enum Fate { case plain, open, committed, aborted, marker }

    struct Entry: Equatable {
        var key: String
        /// Nil for a tombstone.
        var value: String?
        var producer: Int64
        var fate: Fate
        /// The time of the append, in milliseconds since 1970.
        var time: Int64
    }

    var entries: [Entry] = []
    /// Clients got a success for all records below this offset.
    var acknowledged: Int64 = 0

    /// Cuts the model at `offset`. A transaction whose marker is cut off is open again.
    mutating func cut(to offset: Int64, transactions: [Transaction]) {
        guard offset < entries.count else { return }
        entries.removeLast(entries.count - Int(offset))
        for transaction in transactions where transaction.end >= offset {
            for index in entries.indices {
                let isOfTransaction =
                    entries[index].producer == transaction.producer && index >= transaction.start
                let isEnded = [.committed, .aborted].contains(entries[index].fate)
                if isOfTransaction, isEnded { entries[index].fate = .open }
            }
        }
    }

    /// A transaction that was committed or aborted.
    struct Transaction {
        var producer: Int64
        /// The offset of its first record.
        var start: Int64
        /// The marker's offset.
        var end: Int64
    }

    /// The offset at which a committed reader must stop if all records are durable.
    var stableOffset: Int64 {
        Int64(entries.firstIndex { $0.fate == .open } ?? entries.count)
    }

    /// Whether the record at `offset` may be missing from a compacted log.
    ///
    /// - Parameter isGraceOver: Whether tombstones and markers of this time may be removed.
    func mayBeMissing(_ offset: Int64, isGraceOver: (Int64) -> Bool) -> Bool {
        let entry = entries[Int(offset)]
        switch entry.fate {
        case .aborted: return true
        case .marker: return isGraceOver(entry.time)
        case .open: return false
        case .plain, .committed:
            if entry.value == nil, isGraceOver(entry.time) { return true }
            return entries[(Int(offset) + 1)...].contains {
                $0.key == entry.key && ($0.fate == .plain || $0.fate == .committed)
            }
        }
    }
}

/// Returns the committed records of some batches. It drops aborted ones as a client does, by the list of aborted
/// transactions that comes with each read.
func committedRecords(_ batches: [StoredBatch], aborted: [AbortedTransaction]) -> [StoredBatch.Record] {
    var upcoming = aborted.sorted { $0.firstOffset < $1.firstOffset }
    var abortedProducers: Set<Int64> = []
    var records: [StoredBatch.Record] = []
    for batch in batches {
        while let first = upcoming.first, first.firstOffset <= batch.header.lastOffset {
            abortedProducers.insert(first.producerID)
            upcoming.removeFirst()
        }
        if batch.header.isControl {
            if batch.commits == false { abortedProducers.remove(batch.header.producerID) }
        } else {
            let isAborted =
                batch.header.isTransactional && abortedProducers.contains(batch.header.producerID)
            if !isAborted { records += batch.records }
        }
    }
    return records
}
