/// A record found by its time. Times are milliseconds since 1970.
package struct TimedOffset: Equatable, Sendable {
    package var offset: Int64
    package var timestamp: Int64
}

extension PartitionLog {
    /// Returns the first record of the log with a timestamp of `time` or later, or nil if it is not below `end`.
    ///
    /// - Parameter end: the offset at which the reader must stop.
    package func firstRecord(atOrAfter time: Int64, below end: Int64) throws(LogError) -> TimedOffset? {
        try checkOpen()
        for segment in segments where segment.maxTimestamp >= time && segment.endOffset > logStartOffset {
            var match: TimedOffset?
            let start = try index(of: segment).start(forTime: time)
            try unsafe scan(segment, from: start, to: segment.size) { (header, batch) throws(LogError) in
                guard header.maxTimestamp >= time else { return false }
                try unsafe header.forEachRecord(in: batch) { record in
                    if record.timestamp >= time && record.offset >= logStartOffset { match = record }
                    return match != nil
                }
                return match != nil
            }
            if let match { return match.offset < end ? match : nil }
        }
        return nil
    }

    /// Returns the first record with the largest timestamp of all records below `end`. Returns nil if no record
    /// has a timestamp.
    package func firstRecordWithLargestTimestamp(below end: Int64) throws(LogError) -> TimedOffset? {
        try checkOpen()
        var largest: Int64 = -1
        for segment in segments.reversed()
        where segment.maxTimestamp > largest && segment.baseOffset < end && segment.endOffset > logStartOffset
        {
            largest = max(largest, try largestTimestamp(in: segment, below: end))
        }
        return largest < 0 ? nil : try firstRecord(atOrAfter: largest, below: end)
    }

    /// Returns the largest timestamp of the segment's records between the log's start and `end`, or -1.
    ///
    /// The segment's `maxTimestamp` is only an upper bound: it includes markers, and records that may not be read. So
    /// this reads the batches. An entry of the index begins a part, which the next entry or the segment's end closes.
    /// The newest part comes first, and the walk ends when no batch in front of an entry can have a larger timestamp.
    private func largestTimestamp(in segment: Segment, below end: Int64) throws(LogError) -> Int64 {
        var largest: Int64 = -1
        var partEnd = segment.size
        for entry in try index(of: segment).entries.reversed() {
            try unsafe scan(segment, from: entry, to: partEnd) { (header, batch) throws(LogError) in
                guard header.maxTimestamp > largest, header.baseOffset < end else { return false }
                try unsafe header.forEachRecord(in: batch) { record in
                    if (logStartOffset..<end).contains(record.offset) {
                        largest = max(largest, record.timestamp)
                    }
                    return false
                }
                return false
            }
            partEnd = Int(entry.position)
            let reachesLogStart = segment.baseOffset + Int64(entry.relativeOffset) <= logStartOffset
            if reachesLogStart || largest >= entry.maxTimestampBefore { break }
        }
        return largest
    }

    /// Gives the batches in a part of a segment, without the markers, to `body` until it returns true.
    ///
    /// - Parameters:
    ///   - start: the first batch; nil for the segment's first.
    ///   - end: the position behind the last batch.
    private func scan(
        _ segment: Segment, from start: SegmentIndex.Entry?, to end: Int,
        body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Bool
    ) throws(LogError) {
        var reader = try reader(of: segment, from: start, end: end)
        do throws(LogError) {
            var isDone = false
            while !isDone {
                let isBodyDone: Bool? = try unsafe reader.next { (header, batch) throws(LogError) in
                    try unsafe header.isControl ? false : body(header, batch)
                }
                // Nil is the end of the part.
                isDone = isBodyDone ?? true
            }
        } catch {
            if case .damaged(_, let offset) = error { throw reportDamage(at: offset, in: segment) }
            throw error
        }
    }
}

extension BatchHeader {
    /// Gives the records of the batch to `body` until it returns true.
    fileprivate func forEachRecord(
        in batch: UnsafeRawBufferPointer, body: (TimedOffset) -> Bool
    ) throws(LogError) {
        let records = try unsafe decompressedRecords(of: batch)
        try unsafe records.withBytes { (bytes) throws(LogError) in
            var reader = unsafe RecordReader(bytes, count: Int(recordCount))
            while let record = try reader.next() {
                let timedOffset = TimedOffset(
                    offset: try offset(of: record), timestamp: timestamp(of: record))
                if body(timedOffset) { return }
            }
        }
    }
}
