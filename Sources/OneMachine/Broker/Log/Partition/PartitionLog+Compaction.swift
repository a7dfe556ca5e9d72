internal import Telemetry

extension PartitionLog {
    /// The wait after a failed compaction.
    static let compactionRetryMilliseconds: Int64 = 60_000
    /// The ends of names of files that an interrupted compaction, write or deletion leaves behind.
    private static let leftoverSuffixes = [".cleaned", ".tmp", ".deleted"]

    /// Returns the compaction that is due now, or nil.
    func compactionPlan(now: WallTime) -> CompactionPlan? {
        guard settings.isCompacted, !isCompacting, closedReason == nil,
            now.isDue(nextCompaction, within: Self.compactionRetryMilliseconds)
        else { return nil }
        let sources = compactableSegments(now: now)
        guard !sources.isEmpty else { return nil }
        // A damaged segment is not rewritten, so its older records stay, and only tombstones behind it hide them. So no
        // tombstone is removed.
        let hasDamage = sources.contains { damagedSegments.contains($0.baseOffset) }
        let removableBelow =
            hasDamage
            ? 0
            : compactionProgress.removableBelow(
                now: now.milliseconds, grace: settings.deleteRetentionMilliseconds)
        guard isDirtyEnough(sources, now: now) || removableBelow > tombstonesRemovedBelow else { return nil }
        return CompactionPlan(
            log: id, incarnation: incarnation, directory: directory,
            sources: sources.map { $0.source(isDamaged: damagedSegments.contains($0.baseOffset)) },
            firstDirty: compactionProgress.firstDirty,
            removableBelow: removableBelow, aborted: producers.abortedTransactions,
            lastBatches: producers.entries.compactMapValues(\.batches.last?.baseOffset),
            segmentBytes: settings.segmentBytes)
    }

    /// Whether the part that no pass has compacted is large enough for another pass, or old enough.
    private func isDirtyEnough(_ sources: [Segment], now: WallTime) -> Bool {
        let dirtySegments = sources.filter { $0.endOffset > compactionProgress.firstDirty }
        let dirtyBytes = dirtySegments.reduce(0) { $0 + $1.size }
        let allBytes = sources.reduce(0) { $0 + $1.size }
        let dirtyRatio = Double(dirtyBytes) / Double(max(1, allBytes))
        let oldestAppend = dirtySegments.compactMap(\.firstAppendedAt).min() ?? .max
        let isOverdue =
            settings.maxCompactionLagMilliseconds < .max
            && now.milliseconds - oldestAppend > settings.maxCompactionLagMilliseconds
        return dirtyBytes > 0 && (dirtyRatio >= settings.minCleanableDirtyRatio || isOverdue)
    }

    /// Returns the closed segments that are old enough and below the last stable offset. The checkpoint
    /// on the disk must point behind them: in the new file its position would lie in the middle of a
    /// batch.
    private func compactableSegments(now: WallTime) -> [Segment] {
        let newestAllowed = now.milliseconds - settings.minCompactionLagMilliseconds
        return Array(
            segments.dropLast().prefix { segment in
                segment.endOffset <= min(lastStableOffset, durableOffset) && !segment.isDirty
                    && !checkpoints.canPoint(into: segment)
                    && (settings.minCompactionLagMilliseconds == 0 || segment.maxTimestamp <= newestAllowed)
            })
    }

    /// Replaces segments by the files of a finished pass, or cleans up after a failed pass.
    func finishCompaction(with result: CompactionResult, now: WallTime) {
        isCompacting = false
        guard closedReason == nil else { return }
        guard result.incarnation == incarnation else {
            return removeLeftovers(result.leftovers + result.groups.map(\.swapPath))
        }
        if let error = result.error {
            return handleFailedPass(error, leftovers: result.leftovers, now: now)
        }
        do throws(DiskError) {
            for group in result.groups { try exchangeFiles(of: group) }
        } catch {
            // Some files may be in place and some not. The next start finishes the exchange.
            environment.log.error(
                "compacted files could not be put in place", .field("error", error.description))
            return abandon(reason: "its files are half exchanged; start the broker again")
        }
        readPositions.removeAll()
        compactionProgress.recordPass(
            upTo: result.cleanedUpTo, at: now.milliseconds, grace: settings.deleteRetentionMilliseconds)
        tombstonesRemovedBelow = max(tombstonesRemovedBelow, result.removedBelow)
        producers.abortedTransactions.removeAll { $0.markerOffset < result.removedBelow }
        checkpoints.requestCheckpoint()
        requestFlush()
    }

    private func handleFailedPass(_ error: LogError, leftovers: [String], now: WallTime) {
        nextCompaction = now.milliseconds + Self.compactionRetryMilliseconds
        if case .damaged(let path, let offset) = error {
            excludeDamagedSegment(path: path, offset: offset)
        } else {
            if case .disk = error { environment.counters.diskFailures.add() }
            environment.log.error(
                "compaction failed", .field("topic", topic), .field("partition", Int(partition)),
                .field("error", error.description))
        }
        removeLeftovers(leftovers)
    }

    /// Leaves the damaged segment out of the passes that follow; the next one begins at once.
    private func excludeDamagedSegment(path: String, offset: Int64) {
        guard let segment = segments.first(where: { $0.path == path }) else { return }
        nextCompaction = 0
        damagedSegments.insert(segment.baseOffset)
        _ = reportDamage(at: offset, in: segment)
    }

    /// Removes the files of a pass that is not applied. They must be gone before any segment changes, because a
    /// later start would put them over the changed segments.
    private func removeLeftovers(_ paths: [String]) {
        guard !paths.isEmpty else { return }
        do throws(DiskError) {
            for path in paths { try environment.disk.removeFile(at: path) }
            try environment.disk.syncDirectory(at: directory)
        } catch {
            environment.counters.diskFailures.add()
            environment.log.error(
                "files of a failed compaction could not be removed", .field("error", error.description))
            abandon(reason: "files of a failed compaction are in its way; start the broker again")
        }
    }

    /// Replaces the segments of a group by their new file, on the disk and in memory.
    func exchangeFiles(of group: CompactionResult.Group) throws(DiskError) {
        guard let first = segments.firstIndex(where: { $0.baseOffset == group.sources[0].baseOffset }) else {
            preconditionFailure("segments stay while they are compacted")
        }
        let range = first..<first + group.sources.count
        for segment in segments[range] { environment.openSegments.close(segment) }
        try SwapFile.exchange(
            path: group.swapPath, directory: directory, base: group.sources[0].baseOffset,
            replaced: group.sources.map(\.baseOffset), disk: environment.disk)
        let segment = Segment(baseOffset: group.sources[0].baseOffset, directory: directory)
        group.summary.apply(to: segment)
        saveSummary(of: segment, index: group.summary.index)
        segments.replaceSubrange(range, with: [segment])
    }

    /// Finishes the compactions and deletions that the last process had begun. If a pass is under way
    /// during a reopening, its files stay, because the worker may remove them at any moment.
    func finishInterruptedWork() throws(DiskError) {
        let names = try environment.disk.names(in: directory).filter { name in
            let mayBelongToPass = name.hasSuffix(".cleaned") || name.hasSuffix(".swap")
            return !isCompacting || !mayBelongToPass
        }
        for name in names where Self.leftoverSuffixes.contains(where: { name.hasSuffix($0) }) {
            try environment.disk.removeFile(at: directory + "/" + name)
        }
        for name in names {
            guard let range = SwapFile.range(ofName: name) else { continue }
            let replaced = names.compactMap { Segment.baseOffset(ofFileNamed: $0) }
                .filter { range.contains($0) }
            try SwapFile.exchange(
                path: directory + "/" + name, directory: directory, base: range.lowerBound,
                replaced: replaced.sorted(), disk: environment.disk)
        }
    }
}

extension Segment {
    fileprivate func source(isDamaged: Bool) -> CompactionPlan.Source {
        .init(path: path, baseOffset: baseOffset, endOffset: endOffset, size: size, isDamaged: isDamaged)
    }
}
