/// A record found by its time.
package struct TimedOffset: Equatable, Sendable {
    package var offset: Int64
    package var timestamp: Int64
}

extension PartitionLog {
    /// Returns the first readable record with a timestamp of `time` or later.
    package func offset(forTime time: Int64) throws(LogError) -> TimedOffset? {
        try checkOpen()
        for segment in segments where segment.maxTimestamp >= time && segment.endOffset > logStartOffset {
            if let match = try offset(forTime: time, in: segment) {
                return match.offset < highWatermark ? match : nil
            }
        }
        return nil
    }

    /// Returns the first record with the largest timestamp, or nil in an empty log.
    package func offsetOfMaxTimestamp() throws(LogError) -> TimedOffset? {
        let maxTimestamp = segments.filter { $0.endOffset > logStartOffset }.map(\.maxTimestamp).max() ?? -1
        guard maxTimestamp >= 0 else { return nil }
        return try offset(forTime: maxTimestamp)
    }

    /// Returns the first such record of one segment, from the log's start on.
    private func offset(forTime time: Int64, in segment: Segment) throws(LogError) -> TimedOffset? {
        let indexEntry = try index(of: segment).start(forTime: time)
        let firstReadable = logStartOffset
        var reader = try reader(
            of: segment, position: Int(indexEntry?.position ?? 0),
            offset: segment.baseOffset + Int64(indexEntry?.relativeOffset ?? 0), end: segment.size)
        var match: TimedOffset?
        do throws(LogError) {
            while match == nil {
                let batch: Void? = try unsafe reader.next { (header, bytes) throws(LogError) in
                    guard header.maxTimestamp >= time, !header.isControl else { return }
                    match = try unsafe header.first(atOrAfter: time, from: firstReadable, in: bytes)
                }
                if batch == nil { return nil }
            }
        } catch {
            if case .damaged(_, let offset) = error { throw reportDamage(at: offset, in: segment) }
            throw error
        }
        return match
    }
}

extension BatchHeader {
    /// Returns the first record of the batch that has `offset` or a higher offset and a timestamp of
    /// `time` or later.
    fileprivate func first(
        atOrAfter time: Int64, from offset: Int64, in batch: UnsafeRawBufferPointer
    ) throws(LogError) -> TimedOffset? {
        let records = try unsafe decompressedRecords(of: batch)
        return try unsafe records.withBytes { (bytes) throws(LogError) in
            var reader = unsafe RecordReader(bytes, count: Int(recordCount))
            while let record = try reader.next() {
                let candidate = TimedOffset(
                    offset: try self.offset(of: record), timestamp: timestamp(of: record))
                if candidate.timestamp >= time, candidate.offset >= offset { return candidate }
            }
            return nil
        }
    }
}
