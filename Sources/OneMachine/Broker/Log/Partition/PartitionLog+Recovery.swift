internal import Telemetry

extension PartitionLog {
    /// Brings the log into memory. It reads and checks every batch from the checkpoint on, and cuts the
    /// log behind the last sound one. The cut takes no acknowledged record, because those were on the disk
    /// in order.
    ///
    /// `skipsOffsets` says that acknowledged records may be lost. Then the log does not give their offsets to
    /// new records.
    package func open(skipsOffsets: Bool = false) throws(LogError) {
        recoveredAt = environment.clock().milliseconds
        let storedCheckpoint: Checkpoint?
        do throws(DiskError) {
            try finishInterruptedWork()
            try findSegments()
            storedCheckpoint = try readCheckpoint()
            if segments.isEmpty { try createFirstSegment(behind: storedCheckpoint) }
        } catch {
            throw .disk(error)
        }
        let checkpoint = try storedCheckpoint.flatMap { (stored) throws(LogError) in
            try matchesLog(stored) ? stored : nil
        }
        try recover(from: checkpoint)
        endOffset = activeSegment.endOffset
        // Records that were deleted stay deleted, whether the rest of the checkpoint fits or not.
        let firstKept = max(
            logStartOffset, storedCheckpoint?.logStartOffset ?? 0, segments[0].baseOffset)
        logStartOffset = min(firstKept, endOffset)
        if skipsOffsets { try skipOffsets() }
        if checkpoint?.isEnd(of: activeSegment) ?? false, !flushState.isDirectoryDirty {
            checkpoints.markCurrent()
        } else {
            try syncAll(from: checkpoint)
            checkpoints.requestCheckpoint()
        }
        durableOffset = endOffset
        lastStableOffset = producers.stableOffset(highWatermark: highWatermark)
    }

    /// Forgets the state in memory and opens the log again, without the records from `offset` on. With nil
    /// it keeps all sound records.
    func reopen(cuttingTo offset: Int64?) throws(LogError) {
        for segment in segments { environment.openSegments.close(segment) }
        segments = []
        incarnation += 1
        producers = Producers()
        compactionProgress = CompactionProgress()
        flushState = FlushState()
        checkpoints = CheckpointState()
        readPositions.removeAll()
        lastStableOffset = 0
        cutOffset = offset
        defer { cutOffset = nil }
        try open()
    }

    /// Syncs the bytes that a killed process wrote, which may be in the system's memory only. The bytes
    /// below a checkpoint were synced before it was written.
    ///
    /// The file of a new log is empty, so only its name is synced. Without that, a power failure could
    /// take the first segment away and leave the second one.
    private func syncAll(from checkpoint: Checkpoint?) throws(LogError) {
        do throws(DiskError) {
            for segment in segments
            where segment.endOffset > max(segment.baseOffset, checkpoint?.nextOffset ?? 0) {
                try environment.disk.sync(segment.openFile(with: environment.openSegments))
            }
            try environment.disk.syncDirectory(at: directory)
        } catch {
            throw .disk(error)
        }
        flushState.isDirectoryDirty = false
    }

    /// Lists the segments of the directory, and removes empty files of failed rolls.
    private func findSegments() throws(DiskError) {
        let names = try environment.disk.names(in: directory)
        setAsideFileCount = names.count(where: SetAsideFile.isSetAside)
        for name in names {
            guard let baseOffset = Segment.baseOffset(ofFileNamed: name), baseOffset >= 0 else { continue }
            segments.append(Segment(baseOffset: baseOffset, directory: directory))
        }
        segments.sort { $0.baseOffset < $1.baseOffset }
        // Only the newest segment may be empty. Another empty one is left from a failed roll.
        for segment in segments.dropLast() where try isEmpty(segment) {
            environment.openSegments.close(segment)
            try environment.disk.removeFile(at: segment.path)
            segments.removeAll { $0 === segment }
        }
    }

    private func isEmpty(_ segment: Segment) throws(DiskError) -> Bool {
        try environment.disk.size(of: segment.openFile(with: environment.openSegments)) == 0
    }

    /// Returns the checkpoint in the file, or nil if the file is missing or damaged.
    private func readCheckpoint() throws(DiskError) -> Checkpoint? {
        guard let bytes = try environment.disk.contents(of: checkpointPath) else {
            checkpoints.recordDiskCheckpoint(.none)
            return nil
        }
        if let checkpoint = Checkpoint(decoding: bytes) {
            checkpoints.recordDiskCheckpoint(.pointing(checkpoint.segmentBaseOffset))
            return checkpoint
        }
        environment.log.warning(
            "checkpoint is not sound; reading the whole log", .field("path", checkpointPath))
        return nil
    }

    /// Whether the checkpoint belongs to its segment as it is now: a batch ends at its position, and the
    /// next one has its offset. A segment that was compacted since has other positions.
    private func matchesLog(_ checkpoint: Checkpoint) throws(LogError) -> Bool {
        if let segment = segments.first(where: { $0.baseOffset == checkpoint.segmentBaseOffset }),
            try fileSize(of: segment) >= checkpoint.position, try batchEnds(at: checkpoint, in: segment)
        {
            return true
        }
        environment.log.error(
            "checkpoint does not fit its log; reading the whole log", .field("path", directory))
        return false
    }

    /// Whether a batch ends at the checkpoint's position. Reads from the last entry of the checkpoint's
    /// index.
    ///
    /// Damage in front of the position is not a reason to read the whole log: after a power failure, that
    /// reading would cut off all records behind the damage. So if the last batch in front cannot be read, the
    /// batch behind the position decides.
    private func batchEnds(at checkpoint: Checkpoint, in segment: Segment) throws(LogError) -> Bool {
        var reader = try reader(
            of: segment, from: checkpoint.index.entries.last, end: checkpoint.position)
        while try unsafe reader.nextSkippingDamage({ (_, _) throws(LogError) in }) != nil {}
        if reader.position == checkpoint.position { return reader.offset == checkpoint.nextOffset }
        let fileSize = try self.fileSize(of: segment)
        guard fileSize > checkpoint.position else { return true }
        let readerBehind = try self.reader(
            of: segment, position: checkpoint.position, offset: checkpoint.nextOffset, end: fileSize)
        return readerBehind.isAtSoundBatch()
    }

    /// Makes the first segment of a log that has none. If records were lost with their files, their offsets are not
    /// used again, because a reader that is ahead would take new records for those that it has read.
    private func createFirstSegment(behind checkpoint: Checkpoint?) throws(DiskError) {
        let first = Segment(
            baseOffset: max(logStartOffset, checkpoint?.nextOffset ?? 0), directory: directory)
        try createFile(of: first)
        segments = [first]
    }

    /// Reads every segment from the checkpoint on, and only the summaries of the earlier ones. Cuts the
    /// log at the first gap between segments, and at the first torn tail.
    private func recover(from checkpoint: Checkpoint?) throws(LogError) {
        if let checkpoint {
            producers = checkpoint.producers
            compactionProgress = checkpoint.compactionProgress
        }
        for (index, segment) in segments.enumerated() {
            let isBehindGap = index > 0 && segment.baseOffset != segments[index - 1].endOffset
            if isBehindGap {
                return try setAsideSegments(after: index - 1)
            }
            if let checkpoint, segment.baseOffset < checkpoint.segmentBaseOffset {
                try restoreSummary(of: segment, endOffset: segments[index + 1].baseOffset)
                continue
            }
            let nextBaseOffset = index + 1 < segments.count ? segments[index + 1].baseOffset : nil
            let tornFileSize = try recoverBatches(
                of: segment, from: checkpoint, nextBaseOffset: nextBaseOffset)
            if let tornFileSize {
                try setAsideSegments(after: index)
                return try cutTail(of: segment, fileSize: tornFileSize)
            }
        }
        try activateLastSegment()
    }

    /// Sets the segments behind `index` aside, the newest first. This comes before the last remaining
    /// segment is cut, so that a crash at any step leaves a log without a hole.
    private func setAsideSegments(after index: Int) throws(LogError) {
        do throws(DiskError) {
            for segment in segments[(index + 1)...].reversed() {
                environment.openSegments.close(segment)
                let newPath = SetAsideFile.cut.path(
                    for: segment, among: try environment.disk.names(in: directory))
                try environment.disk.rename(segment.path, to: newPath)
                setAsideFileCount += 1
                environment.log.error("segment lies behind a cut and was set aside", .field("path", newPath))
            }
            if index + 1 < segments.count { try environment.disk.syncDirectory(at: directory) }
        } catch {
            throw .disk(error)
        }
        segments.removeSubrange((index + 1)...)
        try activateLastSegment()
    }

    /// Opens the newest segment again for appends, with its index in memory.
    private func activateLastSegment() throws(LogError) {
        _ = try index(of: activeSegment)
        activeSegment.isActive = true
        environment.openSegments.close(activeSegment)
        do throws(DiskError) {
            _ = try activeSegment.openFile(with: environment.openSegments)
        } catch {
            throw .disk(error)
        }
    }
}
