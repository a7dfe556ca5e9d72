internal import Telemetry

extension PartitionLog {
    /// Removes what the topic's settings no longer keep; returns files for a worker to remove.
    func applyRetention(now: WallTime) throws(LogError) -> [String] {
        guard closed == nil, !isCompacting else { return [] }
        if isRollOverdue(now: now) { try roll() }
        var count = 0
        if settings.isDeleted { count = max(countExpired(now: now), countSurplus()) }
        count = max(count, segments.dropLast().prefix { $0.endOffset <= logStartOffset }.count)
        guard count > 0 else { return [] }
        if count == segments.count { try roll() }
        return try dropSegments(count)
    }

    /// A segment that nobody appends to must close too, to be compacted or removed.
    private func isRollOverdue(now: WallTime) -> Bool {
        guard active.size > 0, let first = active.firstAppended else { return false }
        return now.milliseconds - first >= settings.segmentMilliseconds
    }

    /// Oldest segments whose newest record is too old. Only what is on disk and stable counts.
    private func countExpired(now: WallTime) -> Int {
        guard settings.retentionMilliseconds >= 0 else { return 0 }
        let oldest = now.milliseconds - settings.retentionMilliseconds
        return segments.prefix { segment in
            segment.size > 0 && segment.maxTimestamp < oldest && segment.endOffset <= lastStableOffset
        }.count
    }

    /// Oldest segments without which the log is still as large as it may be.
    private func countSurplus() -> Int {
        guard settings.retentionBytes >= 0 else { return 0 }
        var left = size
        return segments.dropLast().prefix { segment in
            left -= segment.size
            return left >= settings.retentionBytes && segment.endOffset <= lastStableOffset
        }.count
    }

    /// Takes the first segments out of the log. The files get another name here, oldest first, so that
    /// a crash in between leaves no hole; freeing their blocks can take long and is for a worker.
    private func dropSegments(_ count: Int) throws(LogError) -> [String] {
        var files: [String] = []
        for segment in segments.prefix(count) {
            environment.open.close(segment)
            do throws(DiskError) {
                try environment.disk.remove(segment.indexPath)
                try environment.disk.rename(segment.path, to: segment.path + ".deleted")
            } catch {
                throw .disk(error)
            }
            files.append(segment.path + ".deleted")
            segments.removeFirst()
            flush.full.removeAll { $0 === segment }
            logStartOffset = max(logStartOffset, segments[0].baseOffset)
        }
        producers.forget(below: logStartOffset)
        checkpoints.demand()
        requestFlush()
        environment.log.info(
            "removed segments", .field("topic", topic), .field("partition", Int(partition)),
            .field("segments", count), .field("start", Int(logStartOffset)))
        return files
    }

    /// Makes records below `offset` unreadable; their segments go when all of their records are. It is
    /// durable with the next checkpoint, which is asked for here.
    package func deleteRecords(before offset: Int64) throws(LogError) {
        try checkOpen()
        guard offset >= 0, offset <= highWatermark else {
            throw .offsetOutOfRange(offset: offset, from: logStartOffset, to: highWatermark)
        }
        guard offset > logStartOffset else { return }
        logStartOffset = offset
        producers.forget(below: offset)
        checkpoints.demand()
        requestFlush()
    }
}
