/// The decision which records of each batch survive a compaction. It must see all batches in order from
/// the log's start, because a marker may go only if no record of its transaction is left.
struct CompactionFilter {
    enum FilteredBatch {
        case whole
        case rewritten([UInt8])
        /// A batch without records, which keeps the producer's newest sequence.
        case onlyProducer(BatchHeader)
        case nothing
    }

    private let removableBelow: Int64
    private let lastBatches: [Int64: Int64]
    /// Aborted transactions of each producer, in the order of the log.
    private let aborted: [Int64: [Producers.AbortedRange]]
    /// Producers whose current transaction has a record that stays.
    private var withRecords: Set<Int64> = []

    init(plan: CompactionPlan) {
        removableBelow = plan.removableBelow
        lastBatches = plan.lastBatches
        aborted = Dictionary(grouping: plan.aborted, by: \.producerID)
    }

    func isAborted(_ header: BatchHeader) -> Bool {
        guard header.isTransactional, !header.isControl, let list = aborted[header.producerID] else {
            return false
        }
        return list.contains { $0.firstOffset <= header.baseOffset && header.lastOffset < $0.lastOffset }
    }

    mutating func filter(
        _ header: BatchHeader, batch: UnsafeRawBufferPointer, keys: KeyMap, mappedUpTo: Int64
    ) throws(LogError) -> FilteredBatch {
        if header.isControl { return keepsMarker(header, mappedUpTo: mappedUpTo) ? .whole : .nothing }
        if header.baseOffset >= mappedUpTo {
            noteRecords(of: header)
            return .whole
        }
        let kept = isAborted(header) ? .nothing : try unsafe records(of: header, in: batch, keeping: keys)
        switch kept {
        case .whole, .rewritten:
            noteRecords(of: header)
            return kept
        case .onlyProducer, .nothing:
            return lastBatches[header.producerID] == header.baseOffset
                ? .onlyProducer(header.emptied) : .nothing
        }
    }

    private mutating func noteRecords(of header: BatchHeader) {
        if header.isTransactional, header.recordCount > 0 { withRecords.insert(header.producerID) }
    }

    private mutating func keepsMarker(_ header: BatchHeader, mappedUpTo: Int64) -> Bool {
        let hasRecords = withRecords.remove(header.producerID) != nil
        return hasRecords || header.baseOffset >= min(removableBelow, mappedUpTo)
    }

    private func records(
        of header: BatchHeader, in batch: UnsafeRawBufferPointer, keeping keys: KeyMap
    ) throws(LogError) -> FilteredBatch {
        guard header.recordCount > 0 else { return .nothing }
        let plain = try unsafe header.decompressedRecords(of: batch)
        var body: [UInt8] = []
        var count: Int32 = 0
        var maxTimestamp: Int64 = -1
        try unsafe plain.withBytes { (raw) throws(LogError) in
            var reader = unsafe RecordReader(raw, count: Int(header.recordCount))
            while let record = try reader.next() {
                let offset = try header.offset(of: record)
                guard unsafe isKept(record, at: offset, in: raw, keeping: keys) else { continue }
                unsafe body.append(contentsOf: raw[record.whole])
                count += 1
                maxTimestamp = max(maxTimestamp, header.timestamp(of: record))
            }
        }
        if count == header.recordCount { return .whole }
        if count == 0 { return .nothing }
        let compressed = (Codec(rawValue: header.codec) ?? .none).compress(body)
        // A rewritten batch may be larger than the original. Then the original stays, with its superseded
        // records.
        guard BatchHeader.size + compressed.bytes.count < header.totalSize else { return .whole }
        var rest = header
        rest.attributes = (header.attributes & ~0x07) | Int16(compressed.codec.rawValue)
        rest.recordCount = count
        rest.maxTimestamp = maxTimestamp
        return .rewritten(BatchBuilder.assemble(header: rest, body: compressed.bytes))
    }

    private func isKept(
        _ record: RecordView, at offset: Int64, in raw: UnsafeRawBufferPointer, keeping keys: KeyMap
    ) -> Bool {
        guard let key = record.key else { return false }
        if let newest = unsafe keys.newestOffset(of: UnsafeRawBufferPointer(rebasing: raw[key])),
            newest > offset
        {
            return false
        }
        return record.value != nil || offset >= removableBelow
    }
}

extension BatchHeader {
    /// The same offsets and producer without records. The batch is not transactional, so it needs no
    /// marker.
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
