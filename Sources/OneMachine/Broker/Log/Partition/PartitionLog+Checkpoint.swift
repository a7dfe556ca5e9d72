internal import Telemetry

/// The state of a log's checkpoint: whether one is due, and which one is in the file.
struct CheckpointState {
    /// Approximate limit for the bytes that recovery reads after a crash.
    static let interval = 64 << 20

    /// The checkpoint in the file.
    enum DiskCheckpoint: Equatable {
        case none
        /// The file may have any of several checkpoints, or one that cannot be read.
        case unknown
        /// It points into the segment with this first offset, or into a later one.
        case pointing(Int64)
    }

    /// Appended bytes since the last checkpoint was taken.
    private var bytesSinceCheckpoint = 0
    /// Number of changes to the state that a checkpoint stores. A written checkpoint is current if the
    /// number is the same as when it was taken.
    private(set) var changeCount = 0
    private(set) var isDue = false
    /// Whether the checkpoint on the disk has the same state as memory.
    private(set) var isCurrent = false
    private(set) var onDisk = DiskCheckpoint.unknown
    /// Whether the last write failed. Upkeep then asks for another one.
    private(set) var hasFailed = false

    mutating func recordAppend(byteCount: Int) {
        bytesSinceCheckpoint += byteCount
        changeCount += 1
        isCurrent = false
        if bytesSinceCheckpoint >= Self.interval { isDue = true }
    }

    /// Makes a checkpoint due, after a change that must not wait until the interval is full.
    mutating func requestCheckpoint() {
        isDue = true
        changeCount += 1
        isCurrent = false
    }

    /// Notes that the log was opened in exactly the state of its checkpoint.
    mutating func markCurrent() { isCurrent = true }

    /// Notes that a checkpoint of the current state is on its way to the disk.
    mutating func markTaken() {
        bytesSinceCheckpoint = 0
        isDue = false
    }

    mutating func recordDiskCheckpoint(_ onDisk: DiskCheckpoint) { self.onDisk = onDisk }

    mutating func recordWrite(segment: Int64, changes: Int) {
        onDisk = .pointing(segment)
        hasFailed = false
        isCurrent = changes == self.changeCount
    }

    /// After a failed write the file has the old checkpoint or the new one. `onDisk` keeps the old one, because
    /// `canPoint` then includes the segments of both. If there was none, the new one may be there.
    mutating func recordWriteFailure() {
        if onDisk == .none { onDisk = .unknown }
        hasFailed = true
    }

    /// Whether the checkpoint in the file may point into this segment. Then a start would read the
    /// segment from a position in its middle, so its file must not be replaced.
    func canPoint(into segment: Segment) -> Bool {
        switch onDisk {
        case .none: false
        case .unknown: true
        case .pointing(let base): segment.baseOffset >= base
        }
    }
}

extension PartitionLog {
    var checkpointPath: String { directory + "/" + Checkpoint.fileName }

    private var checkpoint: Checkpoint {
        Checkpoint(
            logStartOffset: logStartOffset, active: activeSegment, producers: producers,
            compactionProgress: compactionProgress)
    }

    /// Takes a checkpoint of the current state if one is due. The flusher writes it after the sync.
    func takeDueCheckpoint() -> CheckpointFile? {
        guard checkpoints.isDue else { return nil }
        checkpoints.markTaken()
        return CheckpointFile(
            path: checkpointPath, bytes: checkpoint.encoded(), segment: activeSegment.baseOffset,
            changes: checkpoints.changeCount)
    }

    /// Handles the outcome of a checkpoint's write.
    func handleCheckpointOutcome(_ outcome: CheckpointOutcome) {
        switch outcome {
        case .notAsked: break
        case .written(let file): checkpoints.recordWrite(segment: file.segment, changes: file.changes)
        case .failed(let error):
            if !checkpoints.hasFailed {
                environment.log.warning(
                    "checkpoint cannot be written and is tried again; a start now would read more",
                    .field("topic", topic), .field("partition", Int(partition)),
                    .field("error", error.description))
            }
            environment.counters.diskFailures.add()
            checkpoints.recordWriteFailure()
        }
    }

    /// Asks again for a checkpoint that could not be written.
    func retryCheckpoint() {
        guard checkpoints.hasFailed, closedReason == nil else { return }
        checkpoints.requestCheckpoint()
        requestFlush()
    }

    /// Asks for the sync and the checkpoint that `close` needs, so that the flusher's threads do it for
    /// many logs side by side.
    func prepareClose() {
        guard closedReason == nil, !checkpoints.isCurrent else { return }
        checkpoints.requestCheckpoint()
        requestFlush()
    }

    /// Syncs everything and leaves a checkpoint at the very end, so that the next opening reads no batch.
    package func close() throws(LogError) {
        guard closedReason == nil else { return }
        guard !checkpoints.isCurrent else { return abandon(reason: "the broker is stopping") }
        do throws(DiskError) {
            let dirtySegments = (flushState.fullSegments + [activeSegment]).filter(\.isDirty)
            // The result of a sync under way has not come, so its files are synced once more.
            let filesUnderWay = flushState.underWay?.request.files ?? []
            for file in try filesUnderWay + openFiles(of: dirtySegments) {
                try environment.disk.sync(file)
            }
            if flushState.isDirectoryDirty || flushState.underWay != nil {
                try environment.disk.syncDirectory(at: directory)
            }
            try environment.disk.replace(checkpointPath, with: checkpoint.encoded())
        } catch {
            abandon(reason: "it could not be closed well")
            throw .disk(error)
        }
        durableOffset = endOffset
        abandon(reason: "the broker is stopping")
    }

    /// Closes the log and its files without a change on the disk.
    func abandon(reason: String) {
        closedReason = reason
        for segment in segments { environment.openSegments.close(segment) }
        let waiters = flushState.waiters
        flushState = FlushState()
        for waiter in waiters { waiter.done(waiter.offset <= durableOffset ? nil : .closed(reason)) }
    }
}
