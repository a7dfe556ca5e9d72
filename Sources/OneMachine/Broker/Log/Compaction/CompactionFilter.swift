/// Decides which records of each batch survive a compaction. It must get all batches in order from the log's start,
/// because a marker may be removed only if no record of its transaction is left.
struct CompactionFilter {
    /// The part of a batch that survives.
    enum FilteredBatch {
        case whole
        case rewritten([UInt8])
        /// A batch without records, which keeps the producer's newest sequence.
        case onlyProducer(BatchHeader)
        case nothing
    }

    /// Tombstones and markers below this offset have had their grace time and may be removed.
    private let removableBelow: Int64
    /// The base offset of each producer's last batch, by producer id.
    private let lastBatches: [Int64: Int64]
    /// Aborted transactions by producer id, in the order of the log.
    private let abortedByProducer: [Int64: [Producers.AbortedRange]]
    /// Producers whose current transaction has a record that stays.
    private var producersWithRecords: Set<Int64> = []

    init(plan: CompactionPlan) {
        removableBelow = plan.removableBelow
        lastBatches = plan.lastBatches
        abortedByProducer = Dictionary(grouping: plan.aborted, by: \.producerID)
    }

    /// Whether the batch has data of an aborted transaction.
    func isAborted(_ header: BatchHeader) -> Bool {
        guard header.isTransactional, !header.isControl,
            let transactions = abortedByProducer[header.producerID]
        else { return false }
        return transactions.contains {
            $0.firstOffset <= header.baseOffset && header.lastOffset < $0.markerOffset
        }
    }

    /// Returns the part of the batch that stays. `keys` has the newest offset of each key below
    /// `mappedUpTo`; data batches from there on stay whole.
    mutating func filter(
        _ header: BatchHeader, batch: UnsafeRawBufferPointer, keys: KeyMap, mappedUpTo: Int64
    ) throws(LogError) -> FilteredBatch {
        if header.isControl { return filterMarker(header, mappedUpTo: mappedUpTo) }
        if header.baseOffset >= mappedUpTo {
            noteRecords(of: header)
            return .whole
        }
        let filtered =
            isAborted(header) ? .nothing : try unsafe filterRecords(of: header, in: batch, keeping: keys)
        switch filtered {
        case .whole, .rewritten:
            noteRecords(of: header)
            return filtered
        case .onlyProducer, .nothing:
            return lastBatches[header.producerID] == header.baseOffset
                ? .onlyProducer(header.emptied) : .nothing
        }
    }

    private mutating func noteRecords(of header: BatchHeader) {
        if header.isTransactional, header.recordCount > 0 { producersWithRecords.insert(header.producerID) }
    }

    /// Ends the producer's transaction. Its marker stays until its grace time is over, and as long as a record of the
    /// transaction stays.
    private mutating func filterMarker(_ header: BatchHeader, mappedUpTo: Int64) -> FilteredBatch {
        let hasRecords = producersWithRecords.remove(header.producerID) != nil
        let isExpired = header.baseOffset < min(removableBelow, mappedUpTo)
        return isExpired && !hasRecords ? .nothing : .whole
    }

    /// Returns the records of a data batch that stay, as a batch with the same offsets and producer.
    private func filterRecords(
        of header: BatchHeader, in batch: UnsafeRawBufferPointer, keeping keys: KeyMap
    ) throws(LogError) -> FilteredBatch {
        guard header.recordCount > 0 else { return .nothing }
        let records = try unsafe header.decompressedRecords(of: batch)
        var keptRecords: [UInt8] = []
        var keptCount: Int32 = 0
        var maxTimestamp: Int64 = -1
        try unsafe records.withBytes { (bytes) throws(LogError) in
            var reader = unsafe RecordReader(bytes, count: Int(header.recordCount))
            while let record = try reader.next() {
                let offset = try header.offset(of: record)
                guard unsafe isKept(record, at: offset, in: bytes, keeping: keys) else { continue }
                unsafe keptRecords.append(contentsOf: bytes[record.whole])
                keptCount += 1
                maxTimestamp = max(maxTimestamp, header.timestamp(of: record))
            }
        }
        if keptCount == header.recordCount { return .whole }
        if keptCount == 0 { return .nothing }
        let compressed = (Codec(rawValue: header.codec) ?? .none).compress(keptRecords)
        // A rewritten batch may be larger than the original. Then the original stays, with its superseded
        // records.
        guard BatchHeader.size + compressed.bytes.count < header.totalSize else { return .whole }
        var newHeader = header
        let otherAttributes = header.attributes & ~BatchHeader.codecMask
        newHeader.attributes = otherAttributes | Int16(compressed.codec.rawValue)
        newHeader.recordCount = keptCount
        newHeader.maxTimestamp = maxTimestamp
        return .rewritten(BatchBuilder.assemble(header: newHeader, body: compressed.bytes))
    }

    /// Whether a record stays: the newest one of its key, unless it is an expired tombstone.
    private func isKept(
        _ record: RecordView, at offset: Int64, in bytes: UnsafeRawBufferPointer, keeping keys: KeyMap
    ) -> Bool {
        guard let key = record.key else { return false }
        if let newestOffset = unsafe keys.newestOffset(of: UnsafeRawBufferPointer(rebasing: bytes[key])),
            newestOffset > offset
        {
            return false
        }
        return record.value != nil || offset >= removableBelow
    }
}

extension BatchHeader {
    /// A header with the same offsets and producer, for a batch without records. The batch is not
    /// transactional, so it needs no marker.
    fileprivate var emptied: BatchHeader {
        var header = BatchHeader(
            baseOffset: baseOffset, producerID: producerID, producerEpoch: producerEpoch,
            baseSequence: baseSequence)
        header.lastOffsetDelta = lastOffsetDelta
        header.baseTimestamp = maxTimestamp
        header.maxTimestamp = maxTimestamp
        return header
    }
}
