internal import Telemetry

extension PartitionLog {
    /// Reads a segment from the checkpoint on, if the checkpoint lies in it, else from its beginning, and
    /// takes over every sound batch.
    ///
    /// Unsound bytes are a torn tail. But if the machine stayed up and sound batches follow, here or in the
    /// next segment, the bytes were damaged after the write, and only they are lost.
    ///
    /// - Returns: the size of the file if it has a torn tail, which the caller must cut; nil otherwise.
    func recoverBatches(
        of segment: Segment, from checkpoint: Checkpoint?, nextBaseOffset: Int64?
    ) throws(LogError) -> Int? {
        segment.index = SegmentIndex()
        if let checkpoint, checkpoint.segmentBaseOffset == segment.baseOffset {
            checkpoint.apply(to: segment)
        }
        let fileSize = try fileSize(of: segment)
        var reader = try reader(of: segment, position: segment.size, offset: segment.endOffset, end: fileSize)
        while true {
            let isAtEnd = try replayBatches(from: &reader, into: segment)
            guard !isAtEnd, environment.machineStayedUp, cutOffset == nil else { break }
            let nextSegment = nextBaseOffset.map {
                SegmentReader.BatchPosition(position: fileSize, offset: $0)
            }
            guard let soundBatch = try reader.findNextSoundBatch() ?? nextSegment else { break }
            _ = reportDamage(at: reader.offset, in: segment)
            reader.skip(to: soundBatch)
            segment.skipDamage(to: soundBatch.offset, position: soundBatch.position)
        }
        return segment.size < fileSize ? fileSize : nil
    }

    /// Takes over batches to the end of the file, or to the offset at which the log is cut. Returns false
    /// if the reader stopped in front of bytes that are not a sound batch.
    private func replayBatches(from reader: inout SegmentReader, into segment: Segment) throws(LogError)
        -> Bool
    {
        do throws(LogError) {
            while reader.offset < cutOffset ?? .max {
                let batch: Void? = try unsafe reader.next { (header, bytes) throws(LogError) in
                    try unsafe replay(header, batch: bytes)
                    segment.recordAppend(header, now: arrivalTime(of: header, now: recoveredAt))
                }
                if batch == nil { return true }
            }
        } catch {
            guard case .damaged = error else { throw error }
            return false
        }
        return true
    }

    /// Takes a stored batch into the producers' state, as its append did.
    private func replay(_ header: BatchHeader, batch: UnsafeRawBufferPointer) throws(LogError) {
        // The time of recovery counts too: a producer of old records is not idle, and may retry now.
        let lastUsed = max(header.maxTimestamp, recoveredAt)
        guard header.isControl else { return producers.recordAppend(header, now: lastUsed) }
        guard let commit = unsafe TransactionMarker.commits(header, batch: batch) else { return }
        producers.recordMarker(
            producerID: header.producerID, epoch: header.producerEpoch, commit: commit,
            at: header.baseOffset, now: lastUsed)
    }

    /// Estimates the arrival time of a stored batch, because the log does not store it. The batch's timestamp
    /// comes from the producer, so it counts only between 1970 and now.
    func arrivalTime(of header: BatchHeader, now: Int64) -> Int64 {
        min(max(header.maxTimestamp, 0), now)
    }

    /// Cuts the file behind the segment's last sound batch.
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
}
