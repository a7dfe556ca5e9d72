internal import Telemetry

/// What is on its way to the disk, and who waits for it.
struct FlushState {
    struct Waiter {
        var offset: Int64
        var done: (LogError?) -> Void
    }

    /// In order of offset, except for duplicates, which wait for what is under way.
    var waiters: [Waiter] = []
    var isUnderWay = false
    /// What the flusher has and has not answered for; closing syncs it once more.
    var underWay: [OpenFile] = []
    /// The request that the flusher has.
    var request: FlushRequest?
    /// The process had no descriptor for it; upkeep hands it in again.
    var isPostponed = false
    /// Full segments that no sync covers yet.
    var full: [Segment] = []
    /// A file was created since the last sync of the directory.
    var directoryIsDirty = false
}

extension PartitionLog {
    /// Calls `done` on the loop thread when everything below `offset` is safe, or with the error that
    /// took it back: then it was not appended and the client must send it again.
    package func whenDurable(_ offset: Int64, _ done: @escaping (LogError?) -> Void) {
        if let closed { return done(.closed(closed)) }
        if offset <= highWatermark { return done(nil) }
        flush.waiters.append(.init(offset: offset, done: done))
        requestFlush()
    }

    func requestFlush() {
        let wanted = environment.flush == .everyAck && durableOffset < endOffset
        guard !flush.isUnderWay, closed == nil, wanted || checkpoints.isDue else { return }
        var dirty = flush.full
        if active.isDirty { dirty.append(active) }
        do throws(DiskError) {
            flush.underWay = try files(of: dirty)
        } catch {
            // Only with `--flush os`, where a segment with new bytes may be closed: nothing waits for it.
            checkpointed(.failed(error))
            return
        }
        let request = FlushRequest(
            log: id, files: flush.underWay, directory: flush.directoryIsDirty ? directory : nil,
            endOffset: endOffset, checkpoint: dueCheckpoint())
        for segment in dirty { segment.isDirty = false }
        flush.full.removeAll(keepingCapacity: true)
        flush.directoryIsDirty = false
        flush.isUnderWay = true
        flush.request = request
        environment.flusher.submit(request)
    }

    /// Hands in what had to wait for a descriptor.
    func retryFlush() {
        guard flush.isPostponed, let request = flush.request else { return }
        flush.isPostponed = false
        environment.flusher.submit(request)
    }

    /// The files of the request are synced, or none is lost by syncing them once more: only the directory
    /// could not be opened.
    private func postpone(_ error: DiskError) {
        environment.counters.diskFailures.add()
        sayFailing(error)
        environment.open.closeClean()
        flush.isPostponed = true
    }

    /// Takes the flusher's answer.
    func flushed(_ result: FlushResult) {
        if closed == nil, let error = result.error, error.isOutOfDescriptors { return postpone(error) }
        flush.isUnderWay = false
        flush.request = nil
        flush.underWay.removeAll(keepingCapacity: true)
        guard closed == nil else { return }
        if let error = result.error { return flushFailed(error) }
        checkpointed(result.checkpoint)
        if result.endOffset > durableOffset {
            durableOffset = result.endOffset
            advance()
        }
        answerWaiters()
        requestFlush()
    }

    private func answerWaiters() {
        let reached = durableOffset
        var done: [FlushState.Waiter] = []
        flush.waiters.removeAll { waiter in
            guard waiter.offset <= reached else { return false }
            done.append(waiter)
            return true
        }
        for waiter in done { waiter.done(nil) }
    }

    /// After a failed sync nobody knows which unsynced bytes reached the disk, and the system will
    /// not say so again: everything above the last good sync is taken back, unless it was promised
    /// without a sync, and the rest is read and checked anew.
    private func flushFailed(_ error: DiskError) {
        environment.counters.diskFailures.add()
        environment.log.error(
            "sync failed", .field("topic", topic), .field("partition", Int(partition)),
            .field("error", error.description))
        let waiters = flush.waiters
        flush.waiters = []
        environment.open.closeClean()
        do throws(LogError) {
            try reopen(cuttingTo: environment.flush == .everyAck ? durableOffset : nil)
        } catch {
            closed = error.description
        }
        for waiter in waiters { waiter.done(.disk(error)) }
        onAdvance?()
    }
}
