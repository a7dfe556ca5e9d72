internal import Telemetry

extension PartitionLog {
    /// Begins another segment if the batch does not fit into the active one, or if that one is old.
    func rollIfDue(adding header: BatchHeader, now: WallTime) throws(LogError) {
        let segment = activeSegment
        guard segment.size > 0 else { return }
        let isFull = segment.size + header.totalSize > settings.segmentBytes
        let isOld =
            segment.firstAppendedAt.map { now.milliseconds - $0 >= settings.segmentMilliseconds } ?? false
        // The index has offsets relative to the segment's first, in 32 bits.
        let exceedsIndex = header.lastOffset - segment.baseOffset > Int64(Int32.max)
        if isFull || isOld || exceedsIndex { try roll() }
    }

    /// Closes the active segment and begins another.
    func roll() throws(LogError) {
        let old = activeSegment
        let next = Segment(baseOffset: endOffset, directory: directory)
        do throws(DiskError) {
            try environment.openSegments.withDescriptor { () throws(DiskError) in
                // Without its summary the old segment would be read through at the next start.
                if let index = old.index {
                    let summary = SegmentSummary(old, index: index)
                    try environment.disk.replace(old.indexPath, with: summary.encoded(), durable: false)
                }
                try createFile(of: next)
            }
        } catch {
            environment.counters.diskFailures.add()
            logAppendFailure(error)
            // The old segment continues to grow, so an empty file within its range must not stay.
            environment.openSegments.close(next)
            try? environment.disk.removeFile(at: next.path)
            throw .disk(error)
        }
        if old.isDirty { flushState.fullSegments.append(old) }
        old.isActive = false
        segments.append(next)
        checkpoints.requestCheckpoint()
        // Without appends nothing else requests the sync. The closed segment is compacted only when the
        // checkpoint points behind it.
        requestFlush()
    }

    /// Creates the file of an empty segment, which becomes the active one.
    func createFile(of segment: Segment) throws(DiskError) {
        let file = try environment.disk.open(path: segment.path, create: true, writable: true)
        try environment.disk.truncate(file, to: 0)
        segment.isActive = true
        segment.index = SegmentIndex()
        segment.file = file
        environment.openSegments.markUsed(segment)
        environment.openSegments.register(segment)
        flushState.isDirectoryDirty = true
    }
}
