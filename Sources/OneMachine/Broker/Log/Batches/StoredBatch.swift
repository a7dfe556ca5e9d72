/// A stored batch with its decompressed records, for tests. A fetch never uses it, because it does not
/// read the records.
package struct StoredBatch: Equatable, Sendable {
    package struct Record: Equatable, Sendable {
        package var offset: Int64
        package var timestamp: Int64
        package var key: [UInt8]?
        package var value: [UInt8]?
    }

    package var header: BatchHeader
    package var records: [Record]
    /// Whether the marker commits; nil if the batch is no marker.
    package var commits: Bool?

    /// `bytes` is one whole sound batch.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(LogError) {
        let header = unsafe BatchHeader(parsing: bytes)
        self.header = header
        commits = header.isControl ? unsafe TransactionMarker.commits(header, batch: bytes) : nil
        let body = try unsafe header.decompressedRecords(of: bytes)
        records = try unsafe body.withBytes { (recordBytes) throws(LogError) in
            var records: [Record] = []
            var reader = unsafe RecordReader(recordBytes, count: Int(header.recordCount))
            while let view = try reader.next() {
                records.append(
                    Record(
                        offset: try header.offset(of: view), timestamp: header.timestamp(of: view),
                        key: view.key.map { unsafe [UInt8](recordBytes[$0]) },
                        value: view.value.map { unsafe [UInt8](recordBytes[$0]) }))
            }
            return records
        }
    }

    /// Returns all batches in the bytes that `PartitionLog.read` gave.
    package static func all(in bytes: [UInt8]) throws(LogError) -> [StoredBatch] {
        try unsafe bytes.withBytes { (buffer) throws(LogError) in
            var batches: [StoredBatch] = []
            var position = 0
            while position < buffer.count {
                let remaining = unsafe UnsafeRawBufferPointer(rebasing: buffer[position...])
                guard remaining.count >= BatchHeader.size,
                    unsafe BatchHeader(parsing: remaining).totalSize <= remaining.count
                else {
                    throw LogError.corruptBatch("it is not whole")
                }
                let batch = try unsafe StoredBatch(parsing: remaining)
                batches.append(batch)
                position += batch.header.totalSize
            }
            return batches
        }
    }
}

extension BatchHeader {
    /// Returns the decompressed records. `batch` begins with the whole batch.
    func decompressedRecords(of batch: UnsafeRawBufferPointer) throws(LogError) -> [UInt8] {
        guard let knownCodec = Codec(rawValue: codec) else { throw .unsupportedCodec(codec) }
        let body = unsafe UnsafeRawBufferPointer(rebasing: batch[Self.size..<totalSize])
        return try unsafe knownCodec.decompress(body)
    }

    /// Returns the record's offset in the log. The delta comes from the producer and may have any value,
    /// because most topics take batches without a check of their records.
    func offset(of record: RecordView) throws(LogError) -> Int64 {
        guard record.offsetDelta >= 0, record.offsetDelta <= Int64(lastOffsetDelta) else {
            throw .corruptBatch(
                "the offset delta of a record is \(record.offsetDelta), not in 0 to \(lastOffsetDelta)")
        }
        let (offset, overflows) = baseOffset.addingReportingOverflow(record.offsetDelta)
        guard !overflows else { throw .corruptBatch("its offset is \(baseOffset)") }
        return offset
    }

    /// Returns the record's timestamp. An overflow wraps, because the delta comes from the producer.
    func timestamp(of record: RecordView) -> Int64 {
        usesAppendTime ? maxTimestamp : baseTimestamp &+ record.timestampDelta
    }
}

extension PartitionLog {
    /// Gives every batch to `body`, from the batch that holds `offset` to the end of the log.
    package func forEachBatch(
        from offset: Int64, body: (StoredBatch) throws(LogError) -> Void
    ) throws(LogError) {
        var nextOffset = max(offset, logStartOffset)
        while nextOffset < endOffset {
            let segment = segment(holding: nextOffset)
            let start = try locateBatch(holding: nextOffset, in: segment)
            var reader = try reader(
                of: segment, position: start.position, offset: start.offset, end: segment.size)
            do throws(LogError) {
                while try unsafe reader.next({ (_, bytes) throws(LogError) in
                    try body(try unsafe StoredBatch(parsing: bytes))
                }) != nil {}
            } catch {
                if case .damaged(_, let offset) = error { throw reportDamage(at: offset, in: segment) }
                throw error
            }
            nextOffset = segment.endOffset
        }
    }
}
