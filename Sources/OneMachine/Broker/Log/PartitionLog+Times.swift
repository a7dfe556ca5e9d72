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
            if let found = try offset(forTime: time, in: segment) {
                return found.offset < highWatermark ? found : nil
            }
        }
        return nil
    }

    /// Returns the first record with the largest timestamp, or nil in an empty log.
    package func offsetOfMaxTimestamp() throws(LogError) -> TimedOffset? {
        let newest = segments.filter { $0.endOffset > logStartOffset }.map(\.maxTimestamp).max() ?? -1
        guard newest >= 0 else { return nil }
        return try offset(forTime: newest)
    }

    private func offset(forTime time: Int64, in segment: Segment) throws(LogError) -> TimedOffset? {
        let start = try index(of: segment).start(forTime: time)
        let startOffset = logStartOffset
        var reader = try reader(
            of: segment, position: Int(start?.position ?? 0),
            offset: segment.baseOffset + Int64(start?.relativeOffset ?? 0), end: segment.size)
        var found: TimedOffset?
        do throws(LogError) {
            while found == nil {
                let isBatch = try unsafe reader.next { (header, bytes) throws(LogError) in
                    guard header.maxTimestamp >= time, !header.isControl else { return true }
                    found = try unsafe header.first(atOrAfter: time, from: startOffset, in: bytes)
                    return true
                }
                if isBatch == nil { return nil }
            }
        } catch {
            if case .damaged(_, let offset) = error { throw reportDamage(at: offset, in: segment) }
            throw error
        }
        return found
    }
}

extension BatchHeader {
    fileprivate func first(
        atOrAfter time: Int64, from offset: Int64, in batch: UnsafeRawBufferPointer
    ) throws(LogError) -> TimedOffset? {
        let plain = try unsafe decompressedRecords(of: batch)
        return try unsafe plain.withBytes { (raw) throws(LogError) in
            var reader = unsafe RecordReader(raw, count: Int(recordCount))
            while let record = try reader.next() {
                let found = TimedOffset(
                    offset: try self.offset(of: record), timestamp: timestamp(of: record))
                if found.timestamp >= time, found.offset >= offset { return found }
            }
            return nil
        }
    }
}
