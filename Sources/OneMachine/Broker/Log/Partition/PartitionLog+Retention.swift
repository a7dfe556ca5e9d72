internal import Telemetry

extension PartitionLog {
    /// Removes the segments that the topic's settings no longer keep, and closes the active segment if it
    /// is old. Returns the paths of files for a worker to remove.
    ///
    /// Closed segments go first, because a roll needs space and their removal frees it. On a full disk this roll fails,
    /// and the next one has the freed space.
    func applyRetention(now: WallTime) -> [String] {
        guard closedReason == nil, !isCompacting else { return [] }
        let expiredCount = settings.isDeleted ? max(countExpired(now: now), countSurplus()) : 0
        let unreadableCount = segments.dropLast().prefix { $0.endOffset <= logStartOffset }.count
        let isActiveExpired = expiredCount == segments.count
        let closedCount = segments.count - 1
        var paths = dropSegments(count: min(max(expiredCount, unreadableCount), closedCount))
        guard isActiveExpired || isRollOverdue(now: now) else { return paths }
        let hasRolled = (try? roll()) != nil
        if isActiveExpired, hasRolled { paths += dropSegments(count: 1) }
        return paths
    }

    /// Whether the active segment is old enough to close. It must close without an append too, because
    /// only closed segments are compacted and removed.
    private func isRollOverdue(now: WallTime) -> Bool {
        guard activeSegment.size > 0, let firstAppendedAt = activeSegment.firstAppendedAt else {
            return false
        }
        return now.milliseconds - firstAppendedAt >= settings.segmentMilliseconds
    }

    /// Counts the oldest segments whose newest record is too old. Only durable and stable records count.
    private func countExpired(now: WallTime) -> Int {
        guard settings.retentionMilliseconds >= 0 else { return 0 }
        let oldestKept = now.milliseconds - settings.retentionMilliseconds
        return segments.prefix { segment in
            segment.size > 0 && segment.endOffset <= lastStableOffset
                && newestTime(in: segment).map { $0 < oldestKept } ?? false
        }.count
    }

    /// Returns the largest time of a record, or the time of the last write if no record has a time, as on
    /// Kafka.
    private func newestTime(in segment: Segment) -> Int64? {
        segment.maxTimestamp >= 0
            ? segment.maxTimestamp : environment.disk.lastModified(of: segment.path)?.milliseconds
    }

    /// Counts the oldest segments that can go because the rest of the log has `retention.bytes`.
    private func countSurplus() -> Int {
        guard settings.retentionBytes >= 0 else { return 0 }
        var remainingBytes = byteCount
        return segments.dropLast().prefix { segment in
            remainingBytes -= segment.size
            return remainingBytes >= settings.retentionBytes && segment.endOffset <= lastStableOffset
        }.count
    }

    /// Takes the first segments out of the log and returns the new paths of their files. The files get
    /// another name here, oldest first, so that a crash in between leaves no hole. A worker removes them,
    /// because to free the blocks of a large file can take long.
    private func dropSegments(count: Int) -> [String] {
        guard count > 0 else { return [] }
        var retiredPaths: [String] = []
        var dropped = 0
        do throws(DiskError) {
            while dropped < count {
                let segment = segments[0]
                environment.openSegments.close(segment)
                if let path = try retireFile(of: segment) { retiredPaths.append(path) }
                segments.removeFirst()
                flushState.fullSegments.removeAll { $0 === segment }
                logStartOffset = max(logStartOffset, segments[0].baseOffset)
                dropped += 1
            }
        } catch {
            environment.counters.diskFailures.add()
            logRetentionFailure(error)
        }
        guard dropped > 0 else { return retiredPaths }
        producers.forget(below: logStartOffset)
        checkpoints.requestCheckpoint()
        requestFlush()
        isRetentionFailing = false
        environment.log.info(
            "removed segments", .field("topic", topic), .field("partition", Int(partition)),
            .field("segments", dropped), .field("start", Int(logStartOffset)))
        return retiredPaths
    }

    /// Returns the new path of the segment's file, or nil if the file was removed at once: a full disk may
    /// have no space for another name.
    private func retireFile(of segment: Segment) throws(DiskError) -> String? {
        try environment.disk.removeFile(at: segment.indexPath)
        let retiredPath = segment.path + ".deleted"
        do throws(DiskError) {
            try environment.disk.rename(segment.path, to: retiredPath)
            return retiredPath
        } catch {
            guard error.isDiskFull else { throw error }
            try environment.disk.removeFile(at: segment.path)
            return nil
        }
    }

    private func logRetentionFailure(_ error: DiskError) {
        guard !isRetentionFailing else { return }
        isRetentionFailing = true
        environment.log.error(
            "old segments cannot be removed and are tried again", .field("topic", topic),
            .field("partition", Int(partition)), .field("error", error.description))
    }

    /// Makes records below `offset` unreadable. A segment is removed when all its records are below. The
    /// next checkpoint, requested here, makes the deletion durable.
    package func deleteRecords(before offset: Int64) throws(LogError) {
        try checkOpen()
        guard offset >= 0, offset <= highWatermark else {
            throw .offsetOutOfRange(offset: offset, from: logStartOffset, to: highWatermark)
        }
        guard offset > logStartOffset else { return }
        logStartOffset = offset
        producers.forget(below: offset)
        checkpoints.requestCheckpoint()
        requestFlush()
    }
}
