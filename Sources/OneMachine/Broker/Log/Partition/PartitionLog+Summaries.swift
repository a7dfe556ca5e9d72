internal import Telemetry

extension PartitionLog {
    /// Returns the segment's index. If it is not in memory, it is read from the summary or made again.
    func index(of segment: Segment) throws(LogError) -> SegmentIndex {
        environment.openSegments.markUsed(segment)
        if let index = segment.index { return index }
        do throws(DiskError) {
            // `openSegments` drops the index only of a segment that is open.
            _ = try segment.openFile(with: environment.openSegments)
            let bytes = try environment.openSegments.withDescriptor { () throws(DiskError) in
                try environment.disk.contents(of: segment.indexPath)
            }
            if let bytes, let summary = SegmentSummary(decoding: bytes), summary.size == segment.size {
                segment.index = summary.index
                return summary.index
            }
        } catch {
            throw .disk(error)
        }
        let index = try rebuiltIndex(of: segment)
        segment.index = index
        return index
    }

    /// Fills in the values of a closed segment from its summary, or by reading the segment.
    func restoreSummary(of segment: Segment, endOffset: Int64) throws(LogError) {
        let fileSize = try fileSize(of: segment)
        do throws(DiskError) {
            if let bytes = try environment.disk.contents(of: segment.indexPath),
                let summary = SegmentSummary(decoding: bytes), summary.size == fileSize,
                summary.endOffset == endOffset
            {
                return summary.apply(to: segment)
            }
        } catch {
            throw .disk(error)
        }
        segment.size = fileSize
        segment.endOffset = endOffset
        // This also sets the segment's times, and writes the summary.
        _ = try rebuiltIndex(of: segment)
    }

    /// Reads a closed segment from start to end, and makes its index and its summary. Damaged batches are
    /// reported and skipped.
    func rebuiltIndex(of segment: Segment) throws(LogError) -> SegmentIndex {
        var index = SegmentIndex()
        var maxTimestamp: Int64 = -1
        var firstAppendedAt: Int64?
        let now = environment.clock().milliseconds
        var reader = try reader(of: segment, position: 0, offset: segment.baseOffset, end: segment.size)
        var isAtEnd = false
        while !isAtEnd {
            do throws(LogError) {
                let position = reader.position
                let batch: Void? = try unsafe reader.next { (header, _) throws(LogError) in
                    index.add(
                        relativeOffset: header.baseOffset - segment.baseOffset, position: position,
                        maxTimestampBefore: maxTimestamp)
                    maxTimestamp = max(maxTimestamp, header.maxTimestamp)
                    firstAppendedAt = firstAppendedAt ?? arrivalTime(of: header, now: now)
                }
                isAtEnd = batch == nil
            } catch {
                guard case .damaged(_, let offset) = error else { throw error }
                _ = reportDamage(at: offset, in: segment)
                guard let soundBatch = try reader.findNextSoundBatch() else { break }
                reader.skip(to: soundBatch)
                index.add(
                    relativeOffset: soundBatch.offset - segment.baseOffset, position: soundBatch.position,
                    maxTimestampBefore: maxTimestamp, isBehindDamage: true)
            }
        }
        segment.maxTimestamp = maxTimestamp
        segment.firstAppendedAt = firstAppendedAt
        saveSummary(of: segment, index: index)
        return index
    }

    /// Writes the segment's summary. A summary that cannot be written is made again when it is needed.
    func saveSummary(of segment: Segment, index: SegmentIndex) {
        let bytes = SegmentSummary(segment, index: index).encoded()
        try? environment.disk.replace(segment.indexPath, with: bytes, durable: false)
    }
}
