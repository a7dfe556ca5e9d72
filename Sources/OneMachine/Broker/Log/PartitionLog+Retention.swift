internal import Telemetry

extension PartitionLog {
    /// Removes the segments that the topic's settings no longer keep; returns files for a worker to remove.
    ///
    /// Closed segments go first: that needs no space, and a roll does. On a full disk the roll fails, and
    /// the freed space is what the next one needs.
    func applyRetention(now: WallTime) -> [String] {
        guard closedReason == nil, !isCompacting else { return [] }
        let unwanted = settings.isDeleted ? max(countExpired(now: now), countSurplus()) : 0
        let unreadable = segments.dropLast().prefix { $0.endOffset <= logStartOffset }.count
        let isActiveExpired = unwanted == segments.count
        var files = dropSegments(count: min(max(unwanted, unreadable), segments.count - 1))
        guard isActiveExpired || isRollOverdue(now: now), (try? roll()) != nil else { return files }
        if isActiveExpired { files += dropSegments(count: 1) }
        return files
    }

    /// Whether the newest segment is old enough to close. Without appends it must close too, to be
    /// compacted or removed.
    private func isRollOverdue(now: WallTime) -> Bool {
        guard active.size > 0, let first = active.firstAppended else { return false }
        return now.milliseconds - first >= settings.segmentMilliseconds
    }

    /// Counts the oldest segments whose newest record is too old. Only durable and stable records count.
    private func countExpired(now: WallTime) -> Int {
        guard settings.retentionMilliseconds >= 0 else { return 0 }
        let oldest = now.milliseconds - settings.retentionMilliseconds
        return segments.prefix { segment in
            segment.size > 0 && segment.endOffset <= lastStableOffset
                && newestTime(in: segment).map { $0 < oldest } ?? false
        }.count
    }

    /// The largest time of a record, or the time of the last write if no record has one, as on Kafka.
    private func newestTime(in segment: Segment) -> Int64? {
        segment.maxTimestamp >= 0
            ? segment.maxTimestamp : environment.disk.lastModified(of: segment.path)?.milliseconds
    }

    /// Counts the oldest segments that exceed the size limit of the log.
    private func countSurplus() -> Int {
        guard settings.retentionBytes >= 0 else { return 0 }
        var left = size
        return segments.dropLast().prefix { segment in
            left -= segment.size
            return left >= settings.retentionBytes && segment.endOffset <= lastStableOffset
        }.count
    }

    /// Takes the first segments out of the log. The files get another name here, oldest first, so that
    /// a crash in between leaves no hole. Freeing their blocks can take long and is for a worker.
    private func dropSegments(count: Int) -> [String] {
        guard count > 0 else { return [] }
        var files: [String] = []
        var dropped = 0
        do throws(DiskError) {
            while dropped < count {
                let segment = segments[0]
                environment.open.close(segment)
                if let left = try retireFile(of: segment) { files.append(left) }
                segments.removeFirst()
                flush.full.removeAll { $0 === segment }
                logStartOffset = max(logStartOffset, segments[0].baseOffset)
                dropped += 1
            }
        } catch {
            environment.counters.diskFailures.add()
            logRetentionFailure(error)
        }
        guard dropped > 0 else { return files }
        producers.forget(below: logStartOffset)
        checkpoints.requestCheckpoint()
        requestFlush()
        isRetentionFailing = false
        environment.log.info(
            "removed segments", .field("topic", topic), .field("partition", Int(partition)),
            .field("segments", dropped), .field("start", Int(logStartOffset)))
        return files
    }

    /// Returns the new name of the file, or nil if it is gone at once: a full disk may have no space for
    /// another name.
    private func retireFile(of segment: Segment) throws(DiskError) -> String? {
        try environment.disk.removeFile(at: segment.indexPath)
        let name = segment.path + ".deleted"
        do throws(DiskError) {
            try environment.disk.rename(segment.path, to: name)
            return name
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

    /// Makes records below `offset` unreadable. A segment goes when all its records are below. The next
    /// checkpoint, requested here, makes it durable.
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
