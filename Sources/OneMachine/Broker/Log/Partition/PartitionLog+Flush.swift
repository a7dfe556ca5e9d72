internal import Telemetry

/// The sync of a log that is under way, the data for the next one, and the waiting clients. At most one
/// sync is under way.
struct FlushState {
    /// A client's request that is answered when all records below `offset` are durable.
    struct Waiter {
        var offset: Int64
        var done: (LogError?) -> Void
    }

    /// A sync whose result has not come yet.
    struct SyncUnderWay {
        let request: FlushRequest
        /// Whether it waits for a descriptor. Upkeep submits it again.
        var isPostponed = false
    }

    /// In order of offset, except for duplicates, which wait for their first copy.
    var waiters: [Waiter] = []

    var underWay: SyncUnderWay?

    // The data for the next sync, besides the active segment.

    /// Full segments that no sync covers yet.
    var fullSegments: [Segment] = []
    /// Whether a file was created since the last sync of the directory.
    var isDirectoryDirty = false
}

extension PartitionLog {
    /// Calls `done` on the loop thread when all records below `offset` are safe. With an error, the
    /// records are gone and the client must send them again.
    package func whenDurable(upTo offset: Int64, done: @escaping (LogError?) -> Void) {
        if let closedReason { return done(.closed(closedReason)) }
        if offset <= highWatermark { return done(nil) }
        flushState.waiters.append(.init(offset: offset, done: done))
        requestFlush()
    }

    /// Submits a sync if records or a checkpoint wait for it. While one is under way nothing happens,
    /// because its result calls this function again.
    func requestFlush() {
        let hasUnsyncedRecords = environment.flushPolicy == .everyAck && durableOffset < endOffset
        guard flushState.underWay == nil, closedReason == nil, hasUnsyncedRecords || checkpoints.isDue else {
            return
        }
        var dirtySegments = flushState.fullSegments
        if activeSegment.isDirty { dirtySegments.append(activeSegment) }
        let files: [OpenFile]
        do throws(DiskError) {
            files = try openFiles(of: dirtySegments)
        } catch {
            // Only `--flush os` lets a segment with unsynced bytes be closed, and then no client waits for the
            // sync. So only the checkpoint has failed.
            handleCheckpointOutcome(.failed(error))
            return
        }
        let request = FlushRequest(
            log: id, files: files, directory: flushState.isDirectoryDirty ? directory : nil,
            endOffset: endOffset, checkpoint: takeDueCheckpoint())
        for segment in dirtySegments { segment.isDirty = false }
        flushState.fullSegments.removeAll(keepingCapacity: true)
        flushState.isDirectoryDirty = false
        flushState.underWay = FlushState.SyncUnderWay(request: request)
        environment.flusher.submit(request)
    }

    /// Submits the request that had to wait for a descriptor.
    func retryFlush() {
        guard let sync = flushState.underWay, sync.isPostponed else { return }
        flushState.underWay?.isPostponed = false
        environment.flusher.submit(sync.request)
    }

    /// Keeps a request for later, because the process had no descriptor left to open the directory. Its
    /// files are synced already, and a second sync of them does no harm.
    private func postponeFlush(after error: DiskError) {
        environment.counters.diskFailures.add()
        logAppendFailure(error)
        environment.openSegments.closeSegments()
        flushState.underWay?.isPostponed = true
    }

    /// Handles the result of the sync that was under way.
    func handleFlushResult(_ result: FlushResult) {
        if closedReason == nil, let error = result.error, error.isOutOfDescriptors {
            return postponeFlush(after: error)
        }
        flushState.underWay = nil
        guard closedReason == nil else { return }
        if let error = result.error { return handleFlushFailure(error) }
        handleCheckpointOutcome(result.checkpoint)
        if result.endOffset > durableOffset {
            durableOffset = result.endOffset
            advanceLastStableOffset()
        }
        answerWaiters()
        requestFlush()
    }

    private func answerWaiters() {
        // The waiters leave the list first, because a call of `done` can add another one.
        let reachedOffset = durableOffset
        var answered: [FlushState.Waiter] = []
        flushState.waiters.removeAll { waiter in
            guard waiter.offset <= reachedOffset else { return false }
            answered.append(waiter)
            return true
        }
        for waiter in answered { waiter.done(nil) }
    }

    /// Reopens the log after a failed sync. The unsynced bytes may or may not be on the disk, and the
    /// system reports the failure only once. So the log is cut at the last good sync, and the rest is read
    /// and checked again. With `--flush os` it is not cut, because unsynced records are acknowledged.
    private func handleFlushFailure(_ error: DiskError) {
        environment.counters.diskFailures.add()
        environment.log.error(
            "sync failed", .field("topic", topic), .field("partition", Int(partition)),
            .field("error", error.description))
        let waiters = flushState.waiters
        flushState.waiters = []
        environment.openSegments.closeSegments()
        do throws(LogError) {
            try reopen(cuttingTo: environment.flushPolicy == .everyAck ? durableOffset : nil)
        } catch {
            closedReason = error.description
        }
        for waiter in waiters { waiter.done(.disk(error)) }
        onAdvance?()
    }
}
