internal import Telemetry

extension PartitionLog {
    /// Reads a segment from the checkpoint on, if that lies in it, else from its beginning, and takes
    /// over every sound batch. Returns the size of the file if the segment ends before it, for the caller
    /// to cut the rest off.
    ///
    /// Unsound bytes are a torn tail. But if the machine was up since then and sound batches follow, the
    /// bytes were damaged later, and only they are lost.
    func recoverBatches(
        of segment: Segment, from checkpoint: Checkpoint?, nextSegment: Int64?
    ) throws(LogError) -> Int? {
        segment.index = SegmentIndex()
        if let checkpoint, checkpoint.segment == segment.baseOffset {
            segment.index = checkpoint.index
            segment.size = checkpoint.position
            segment.endOffset = checkpoint.offset
            segment.maxTimestamp = checkpoint.maxTimestamp
            segment.firstAppended = checkpoint.firstAppended < 0 ? nil : checkpoint.firstAppended
        }
        let fileSize = try fileSize(of: segment)
        var reader = try reader(of: segment, position: segment.size, offset: segment.endOffset, end: fileSize)
        while true {
            if try replayBatches(from: &reader, into: segment) { break }
            guard environment.machineStayedUp, cutOffset == nil else { break }
            let behind = nextSegment.map { SegmentReader.BatchPosition(position: fileSize, offset: $0) }
            guard let sound = try reader.findNextSoundBatch() ?? behind else { break }
            _ = reportDamage(at: reader.offset, in: segment)
            reader.skip(to: sound)
            segment.skipDamage(to: sound.offset, position: sound.position)
        }
        return segment.size < fileSize ? fileSize : nil
    }

    /// False if the reader stopped in front of bytes that are not a sound batch.
    private func replayBatches(from reader: inout SegmentReader, into segment: Segment) throws(LogError)
        -> Bool
    {
        do throws(LogError) {
            while cutOffset.map({ reader.offset < $0 }) ?? true {
                let isBatch = try unsafe reader.next { (header, bytes) throws(LogError) in
                    try unsafe replay(header, batch: bytes)
                    segment.recordAppend(header, now: arrivalTime(of: header, now: recoveredAt))
                    return true
                }
                if isBatch == nil { return true }
            }
        } catch {
            guard case .damaged = error else { throw error }
            return false
        }
        return true
    }

    func fileSize(of segment: Segment) throws(LogError) -> Int {
        do throws(DiskError) {
            return try environment.disk.size(of: segment.openFile(with: environment.open))
        } catch {
            throw .disk(error)
        }
    }

    func reader(
        of segment: Segment, position: Int, offset: Int64, end: Int
    ) throws(LogError) -> SegmentReader {
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.open)
            return SegmentReader(
                disk: environment.disk, file: file, position: position, offset: offset, end: end)
        } catch {
            throw .disk(error)
        }
    }

    /// Takes a stored batch into the producers' state, as its append did.
    private func replay(_ header: BatchHeader, batch bytes: UnsafeRawBufferPointer) throws(LogError) {
        // The time of recovery counts too: a producer of old records is not idle, and may retry now.
        let used = max(header.maxTimestamp, recoveredAt)
        guard header.isControl else { return producers.recordAppend(header, now: used) }
        guard let commit = unsafe TransactionMarker.commits(header, batch: bytes) else { return }
        producers.recordMarker(
            producerID: header.producerID, epoch: header.producerEpoch, commit: commit,
            at: header.baseOffset, timestamp: used)
    }

    /// Returns the arrival time of a stored batch. Its timestamp comes from the producer, so it is only
    /// believed within limits.
    private func arrivalTime(of header: BatchHeader, now: Int64) -> Int64 {
        min(max(header.maxTimestamp, 0), now)
    }

    func cutTail(of segment: Segment, fileSize: Int) throws(LogError) {
        environment.counters.recoveredBytesCut.add(fileSize - segment.size)
        environment.log.warning(
            "cut a torn tail", .field("path", segment.path), .field("bytes", fileSize - segment.size),
            .field("offset", Int(segment.endOffset)))
        do throws(DiskError) {
            let file = try environment.disk.open(path: segment.path, writable: true)
            try environment.disk.truncate(file, to: segment.size)
            try environment.disk.sync(file)
        } catch {
            throw .disk(error)
        }
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
        _ = try rebuiltIndex(of: segment)
    }

    /// Reads a closed segment from start to end. Damage in it stays, and a read there reports it; the
    /// batches behind it are still good.
    func rebuiltIndex(of segment: Segment) throws(LogError) -> SegmentIndex {
        var index = SegmentIndex()
        var maxTimestamp: Int64 = -1
        var first: Int64?
        let now = environment.clock().milliseconds
        var reader = try reader(of: segment, position: 0, offset: segment.baseOffset, end: segment.size)
        var isWhole = false
        while !isWhole {
            do throws(LogError) {
                let position = reader.position
                let isBatch = try unsafe reader.next { (header, _) throws(LogError) in
                    index.add(
                        relativeOffset: header.baseOffset - segment.baseOffset, position: position,
                        maxTimestampBefore: maxTimestamp)
                    maxTimestamp = max(maxTimestamp, header.maxTimestamp)
                    first = first ?? arrivalTime(of: header, now: now)
                    return true
                }
                isWhole = isBatch == nil
            } catch {
                guard case .damaged(_, let offset) = error else { throw error }
                _ = reportDamage(at: offset, in: segment)
                guard let sound = try reader.findNextSoundBatch() else { break }
                reader.skip(to: sound)
                index.addAlways(
                    relativeOffset: sound.offset - segment.baseOffset, position: sound.position,
                    maxTimestampBefore: maxTimestamp)
            }
        }
        segment.maxTimestamp = maxTimestamp
        segment.firstAppended = first
        saveSummary(of: segment, index: index)
        return index
    }

    /// A summary that cannot be saved is made again next time.
    func saveSummary(of segment: Segment, index: SegmentIndex) {
        let bytes = SegmentSummary(segment, index: index).encoded()
        try? environment.disk.replace(segment.indexPath, with: bytes, durable: false)
    }
}
