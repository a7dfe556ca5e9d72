internal import Telemetry

/// The result of a read, besides the bytes.
package struct ReadResult: Equatable, Sendable {
    package var bytes = 0
    /// Number of records in the batches, including those before the requested offset.
    package var records: Int64 = 0
    /// The offset of the next read.
    package var nextOffset: Int64
    package var highWatermark: Int64
    package var lastStableOffset: Int64
    package var logStartOffset: Int64
    /// For a committed reader: the aborted transactions in the range, by first offset.
    package var aborted: [AbortedTransaction] = []
}

package struct AbortedTransaction: Equatable, Sendable {
    package var producerID: Int64
    package var firstOffset: Int64
}

extension PartitionLog {
    /// Limit for the bytes of one read, unless a single batch is larger.
    package static let readMax = 16 << 20

    /// Appends whole batches to the writer, from the batch that holds `offset` on. It gives at least one
    /// batch if there is one, at most `maxBytes`, and stops after `maxRecords`. It checks the checksums
    /// of the bytes that it gives, so it finds any damage.
    package func read(
        from offset: Int64, maxBytes: Int, maxRecords: Int64 = .max, committed: Bool, atLeastOne: Bool = true,
        into writer: inout WireWriter
    ) throws(LogError) -> ReadResult {
        try checkOpen()
        guard offset >= logStartOffset, offset <= endOffset else {
            throw .offsetOutOfRange(offset: offset, from: logStartOffset, to: endOffset)
        }
        let limit = committed ? lastStableOffset : highWatermark
        var result = ReadResult(
            nextOffset: offset, highWatermark: highWatermark, lastStableOffset: lastStableOffset,
            logStartOffset: logStartOffset)
        guard offset < limit else { return result }
        var room = min(max(maxBytes, 0), Self.readMax)
        if !atLeastOne && room < BatchHeader.size { return result }
        while result.bytes == 0 {
            let scan = try readOnce(
                from: offset, limit: limit, room: max(room, BatchHeader.size), records: maxRecords,
                into: &writer)
            result.bytes = scan.taken
            result.records = scan.records
            result.nextOffset = scan.taken > 0 ? scan.nextOffset : offset
            guard scan.taken == 0, let needed = scan.neededBytes, atLeastOne else { break }
            guard needed > room else { throw reportDamage(at: offset, in: segment(holding: offset)) }
            room = needed
        }
        if committed, result.bytes > 0 {
            result.aborted = producers.aborted(from: offset, to: result.nextOffset)
                .map { AbortedTransaction(producerID: $0.producerID, firstOffset: $0.firstOffset) }
                .sorted { $0.firstOffset < $1.firstOffset }
        }
        return result
    }

    func segment(holding offset: Int64) -> Segment {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].baseOffset <= offset { low = middle + 1 } else { high = middle }
        }
        return segments[max(0, low - 1)]
    }

    private func readOnce(
        from offset: Int64, limit: Int64, room: Int, records: Int64, into writer: inout WireWriter
    ) throws(LogError) -> BatchScan {
        let segment = segment(holding: offset)
        var start = try locateBatch(holding: offset, in: segment)
        var scan = try scanBatches(
            from: start, limit: limit, room: room, records: records, in: segment, into: &writer)
        while scan.isDamaged && scan.taken == 0 && start.offset < offset {
            // The damaged header may claim offsets of the sound batches behind it.
            let next = try findSound(behind: start, upTo: offset, in: segment)
            start = try walkHeaders(from: next, to: offset, in: segment)
            scan = try self.scanBatches(
                from: start, limit: limit, room: room, records: records, in: segment, into: &writer)
        }
        if scan.isDamaged && scan.taken == 0 { throw reportDamage(at: scan.expected, in: segment) }
        if let needed = scan.neededBytes, needed > segment.size - start.position {
            throw reportDamage(at: scan.expected, in: segment)
        }
        if scan.taken > 0 {
            positions.remember(offset: scan.expected, segment: segment, position: start.position + scan.taken)
        }
        return scan
    }

    private func scanBatches(
        from start: ReadPositions.ReadPosition, limit: Int64, room: Int, records: Int64, in segment: Segment,
        into writer: inout WireWriter
    ) throws(LogError) -> BatchScan {
        var scan = BatchScan(expected: start.offset, limit: limit, recordsMax: records)
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.open)
            let length = min(room, segment.size - start.position)
            try unsafe writer.append(upTo: length) { (buffer) throws(DiskError) in
                let count = try unsafe environment.disk.read(file, at: start.position, into: buffer)
                unsafe scan.scan(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return scan.taken
            }
        } catch {
            throw .disk(error)
        }
        return scan
    }

    /// Finds the batch that holds `offset`, by a recent read or by the index and the headers behind it.
    func locateBatch(holding offset: Int64, in segment: Segment) throws(LogError)
        -> ReadPositions.ReadPosition
    {
        if let known = positions.find(offset: offset, segment: segment) { return known }
        var start = ReadPositions.ReadPosition(
            offset: segment.baseOffset, segment: ObjectIdentifier(segment), position: 0)
        if let entry = try index(of: segment).floor(relativeOffset: offset - segment.baseOffset) {
            start.offset += Int64(entry.relativeOffset)
            start.position = Int(entry.position)
        }
        return try walkHeaders(from: start, to: offset, in: segment)
    }

    private func walkHeaders(
        from start: ReadPositions.ReadPosition, to offset: Int64, in segment: Segment
    ) throws(LogError) -> ReadPositions.ReadPosition {
        var start = start
        var previous = start
        while true {
            let header = try header(at: start.position, in: segment)
            if header.flaw == nil, header.baseOffset == start.offset {
                if header.lastOffset >= offset { return start }
                previous = start
                start.offset = header.nextOffset
                start.position += header.totalSize
                if start.position + BatchHeader.size <= segment.size { continue }
            }
            start = try findSound(
                behind: try damagedBatch(previous: previous, current: start, in: segment), upTo: offset,
                in: segment)
        }
    }

    /// Returns the damaged batch after a walk over headers failed: the present one, or the one before
    /// with a wrong length or offset count.
    private func damagedBatch(
        previous: ReadPositions.ReadPosition, current start: ReadPositions.ReadPosition, in segment: Segment
    ) throws(LogError) -> ReadPositions.ReadPosition {
        var reader = try reader(
            of: segment, position: previous.position, offset: previous.offset, end: segment.size)
        return (try? unsafe reader.next { (_, _) in true }) == true ? start : previous
    }

    /// Finds the next sound batch, because readers still get the batches behind damage.
    private func findSound(
        behind start: ReadPositions.ReadPosition, upTo offset: Int64, in segment: Segment
    ) throws(LogError) -> ReadPositions.ReadPosition {
        let reader = try reader(
            of: segment, position: start.position, offset: start.offset, end: segment.size)
        guard let found = try reader.findNextSoundBatch(), found.offset <= offset else {
            throw reportDamage(at: offset, in: segment)
        }
        return .init(offset: found.offset, segment: start.segment, position: found.position)
    }

    func header(at position: Int, in segment: Segment) throws(LogError) -> BatchHeader {
        guard position + BatchHeader.size <= segment.size else {
            throw reportDamage(at: segment.endOffset, in: segment)
        }
        var bytes = InlineArray<61, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.open)
            return try unsafe span.withUnsafeMutableBytes { (buffer) throws(DiskError) in
                _ = try unsafe environment.disk.read(file, at: position, into: buffer)
                return unsafe BatchHeader(parsing: UnsafeRawBufferPointer(buffer))
            }
        } catch {
            throw .disk(error)
        }
    }

    /// Returns the segment's index. If it is not in memory, it is read or made again.
    func index(of segment: Segment) throws(LogError) -> SegmentIndex {
        environment.open.markUsed(segment)
        if let index = segment.index { return index }
        do throws(DiskError) {
            _ = try segment.openFile(with: environment.open)
            let bytes = try environment.open.withDescriptor { () throws(DiskError) in
                try environment.disk.contents(of: segment.indexPath)
            }
            if let bytes,
                let summary = SegmentSummary(decoding: bytes), summary.size == segment.size
            {
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
}
