@testable import Broker

/// The model of a log: every appended record by offset, with the outcome of its transaction.
struct LogModel {
    enum Fate { case plain, open, committed, aborted, marker }

    struct Entry: Equatable {
        var key: String
        /// Nil for a tombstone.
        var value: String?
        var producer: Int64
        var fate: Fate
        /// When it was appended.
        var time: Int64
    }

    var entries: [Entry] = []
    /// Clients got a success for all records below this offset.
    var acknowledged: Int64 = 0

    /// Cuts the model at `offset`. Later markers count as never written.
    mutating func cut(to offset: Int64, transactions: [Transaction]) {
        guard offset < entries.count else { return }
        entries.removeLast(entries.count - Int(offset))
        for transaction in transactions where transaction.end >= offset {
            for index in entries.indices
            where entries[index].producer == transaction.producer && index >= transaction.start
                && [.committed, .aborted].contains(entries[index].fate)
            {
                entries[index].fate = .open
            }
        }
    }

    struct Transaction {
        var producer: Int64
        var start: Int64
        /// The marker's offset.
        var end: Int64
    }

    /// The offset at which a committed reader must stop if all records are durable.
    var stableOffset: Int64 {
        Int64(entries.firstIndex { $0.fate == .open } ?? entries.count)
    }

    /// Whether the record at `offset` may be missing from a compacted log.
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

extension StoredBatch.Record {
    var keyText: String { String(decoding: key ?? [], as: UTF8.self) }
    var valueText: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

/// Drops aborted records as a client does, by the list that is returned with the read.
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
        } else if !(batch.header.isTransactional && abortedProducers.contains(batch.header.producerID)) {
            records += batch.records
        }
    }
    return records
}
