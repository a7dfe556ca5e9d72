internal import Telemetry

/// The result of a read, besides the batches themselves.
package struct ReadResult: Equatable, Sendable {
    /// Number of bytes that were read.
    package var byteCount = 0
    /// Number of records in the batches, including those before the requested offset.
    package var recordCount: Int64 = 0
    /// The offset of the next read.
    package var nextOffset: Int64
    package var highWatermark: Int64
    package var lastStableOffset: Int64
    package var logStartOffset: Int64
    /// For a committed reader: the aborted transactions in the range, by first offset.
    package var abortedTransactions: [AbortedTransaction] = []
}

/// An aborted transaction with records in the range of a read. Its reader drops those records.
package struct AbortedTransaction: Equatable, Sendable {
    package var producerID: Int64
    package var firstOffset: Int64
}

extension PartitionLog {
    /// Limit for the bytes of one read, unless a single batch is larger.
    package static let readMax = 16 << 20

    /// Appends whole batches to the writer, from the batch that holds `offset` on, and checks their
    /// checksums. It appends at most `maxBytes`, and no further batch after `maxRecords` records. With
    /// `atLeastOne`, the first batch is appended even if it has more bytes.
    package func read(
        from offset: Int64, maxBytes: Int, maxRecords: Int64 = .max, committed: Bool, atLeastOne: Bool = true,
        into writer: inout WireWriter
    ) throws(LogError) -> ReadResult {
        try checkOpen()
        guard offset >= logStartOffset, offset <= endOffset else {
            throw .offsetOutOfRange(offset: offset, from: logStartOffset, to: endOffset)
        }
        let endOfRead = committed ? lastStableOffset : highWatermark
        var result = ReadResult(
            nextOffset: offset, highWatermark: highWatermark, lastStableOffset: lastStableOffset,
            logStartOffset: logStartOffset)
        guard offset < endOfRead else { return result }
        var byteLimit = min(max(maxBytes, 0), Self.readMax)
        if !atLeastOne && byteLimit < BatchHeader.size { return result }
        // A second pass follows only if the first batch is larger than the limit.
        while result.byteCount == 0 {
            let scan = try readOnce(
                from: offset, to: endOfRead, bytesMax: max(byteLimit, BatchHeader.size),
                recordsMax: maxRecords, into: &writer)
            result.byteCount = scan.takenBytes
            result.recordCount = scan.takenRecords
            result.nextOffset = scan.takenBytes > 0 ? scan.nextOffset : offset
            guard scan.takenBytes == 0, let neededBytes = scan.neededBytes, atLeastOne else { break }
            // The limit had room for the batch, and still its bytes did not come: the file is shorter than the log
            // says.
            guard neededBytes > byteLimit else {
                throw reportDamage(at: offset, in: segment(holding: offset))
            }
            byteLimit = neededBytes
        }
        if committed, result.byteCount > 0 {
            result.abortedTransactions = abortedTransactions(from: offset, to: result.nextOffset)
        }
        return result
    }

    /// Returns the aborted transactions with records in the range, by first offset.
    private func abortedTransactions(from offset: Int64, to end: Int64) -> [AbortedTransaction] {
        producers.aborted(from: offset, to: end)
            .map { AbortedTransaction(producerID: $0.producerID, firstOffset: $0.firstOffset) }
            .sorted { $0.firstOffset < $1.firstOffset }
    }

    /// Returns the segment whose range holds `offset`, by a binary search.
    func segment(holding offset: Int64) -> Segment {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].baseOffset <= offset { low = middle + 1 } else { high = middle }
        }
        return segments[max(0, low - 1)]
    }

    /// Reads once from one segment. If the first batch does not fit, nothing is taken, and `neededBytes` of
    /// the result is its size.
    private func readOnce(
        from offset: Int64, to endOfRead: Int64, bytesMax: Int, recordsMax: Int64,
        into writer: inout WireWriter
    ) throws(LogError) -> BatchScan {
        let segment = segment(holding: offset)
        var start = try locateBatch(holding: offset, in: segment)
        var scan = try scanBatches(
            from: start, to: endOfRead, bytesMax: bytesMax, recordsMax: recordsMax, in: segment,
            into: &writer)
        while scan.isDamaged && scan.takenBytes == 0 && start.offset < offset {
            // `locateBatch` does not check checksums. A damaged header with too high a last offset seems to
            // hold `offset`, although a sound batch behind it does.
            let next = try findSoundBatch(behind: start, upTo: offset, in: segment)
            start = try walkHeaders(from: next, to: offset, in: segment)
            scan = try scanBatches(
                from: start, to: endOfRead, bytesMax: bytesMax, recordsMax: recordsMax, in: segment,
                into: &writer)
        }
        if scan.isDamaged && scan.takenBytes == 0 { throw reportDamage(at: scan.nextOffset, in: segment) }
        if let neededBytes = scan.neededBytes, neededBytes > segment.size - start.position {
            throw reportDamage(at: scan.nextOffset, in: segment)
        }
        if scan.takenBytes > 0 {
            readPositions.remember(
                .init(position: start.position + scan.takenBytes, offset: scan.nextOffset), in: segment)
        }
        return scan
    }

    /// Reads bytes into the writer and keeps the sound batches at their front.
    private func scanBatches(
        from start: SegmentReader.BatchPosition, to endOfRead: Int64, bytesMax: Int, recordsMax: Int64,
        in segment: Segment, into writer: inout WireWriter
    ) throws(LogError) -> BatchScan {
        var scan = BatchScan(nextOffset: start.offset, endOfRead: endOfRead, recordsMax: recordsMax)
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.openSegments)
            let length = min(bytesMax, segment.size - start.position)
            try unsafe writer.append(upTo: length) { (buffer) throws(DiskError) in
                let count = try unsafe environment.disk.read(file, at: start.position, into: buffer)
                unsafe scan.scan(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return scan.takenBytes
            }
        } catch {
            throw .disk(error)
        }
        return scan
    }

    /// Finds the batch that holds `offset`: where a recent read ended, or by the index and the headers
    /// behind its entry.
    func locateBatch(holding offset: Int64, in segment: Segment) throws(LogError)
        -> SegmentReader.BatchPosition
    {
        if let recent = readPositions.find(offset: offset, in: segment) { return recent }
        var start = SegmentReader.BatchPosition(position: 0, offset: segment.baseOffset)
        if let indexEntry = try index(of: segment).floor(relativeOffset: offset - segment.baseOffset) {
            start.offset += Int64(indexEntry.relativeOffset)
            start.position = Int(indexEntry.position)
        }
        return try walkHeaders(from: start, to: offset, in: segment)
    }

    /// Follows the headers from the batch at `start` to the batch that holds `offset`, and skips damage.
    private func walkHeaders(
        from start: SegmentReader.BatchPosition, to offset: Int64, in segment: Segment
    ) throws(LogError) -> SegmentReader.BatchPosition {
        var current = start
        var previous = start
        while true {
            let header = try header(at: current.position, in: segment)
            // Batches follow each other without gaps in their offsets, in compacted segments too (`SegmentWriter`).
            let isPlausible = header.flaw == nil && header.baseOffset == current.offset
            if isPlausible {
                if header.lastOffset >= offset { return current }
                previous = current
                current.offset = header.nextOffset
                current.position += header.totalSize
            }
            let hasNextHeader = current.position + BatchHeader.size <= segment.size
            if !isPlausible || !hasNextHeader {
                // This header is not the expected one, or the file ends before `offset`. Either this header is damaged,
                // or the header before it, which led here.
                let damaged = try damagedBatch(previous: previous, current: current, in: segment)
                current = try findSoundBatch(behind: damaged, upTo: offset, in: segment)
            }
        }
    }

    /// Returns the damaged one of two neighbors, after the walk over headers failed at the second. The
    /// first is damaged if its length or its number of offsets led to the wrong place.
    private func damagedBatch(
        previous: SegmentReader.BatchPosition, current: SegmentReader.BatchPosition, in segment: Segment
    ) throws(LogError) -> SegmentReader.BatchPosition {
        let reader = try reader(
            of: segment, position: previous.position, offset: previous.offset, end: segment.size)
        return reader.isAtSoundBatch() ? current : previous
    }

    /// Returns the first sound batch behind a damaged one, so that readers get the batches behind damage.
    /// Throws if that batch begins above `offset`, because then the record at `offset` is damaged.
    private func findSoundBatch(
        behind damaged: SegmentReader.BatchPosition, upTo offset: Int64, in segment: Segment
    ) throws(LogError) -> SegmentReader.BatchPosition {
        let reader = try reader(
            of: segment, position: damaged.position, offset: damaged.offset, end: segment.size)
        guard let soundBatch = try reader.findNextSoundBatch(), soundBatch.offset <= offset else {
            throw reportDamage(at: offset, in: segment)
        }
        return soundBatch
    }

    private func header(at position: Int, in segment: Segment) throws(LogError) -> BatchHeader {
        guard position + BatchHeader.size <= segment.size else {
            throw reportDamage(at: segment.endOffset, in: segment)
        }
        var headerBytes = BatchHeader.EncodedBytes(repeating: 0)
        var span = headerBytes.mutableSpan
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.openSegments)
            return try unsafe span.withUnsafeMutableBytes { (buffer) throws(DiskError) in
                _ = try unsafe environment.disk.read(file, at: position, into: buffer)
                return unsafe BatchHeader(parsing: UnsafeRawBufferPointer(buffer))
            }
        } catch {
            throw .disk(error)
        }
    }
}
