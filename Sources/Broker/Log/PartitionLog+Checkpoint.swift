/// When the next checkpoint is due.
struct CheckpointState {
    /// Bytes that recovery after a crash has to read at most, about.
    static let interval = 64 << 20

    private var bytesSince = 0
    private(set) var isDue = false
    /// The file on the disk says what is in memory.
    private(set) var isCurrent = false

    mutating func appended(bytes: Int) {
        bytesSince += bytes
        isCurrent = false
        if bytesSince >= Self.interval { isDue = true }
    }

    /// Something changed that must not wait for many bytes.
    mutating func demand() {
        isDue = true
        isCurrent = false
    }

    /// The log was opened exactly as its checkpoint left it.
    mutating func opened() { isCurrent = true }

    mutating func taken() {
        bytesSince = 0
        isDue = false
    }
}

extension PartitionLog {
    var checkpointPath: String { directory + "/" + Checkpoint.fileName }

    private var checkpoint: Checkpoint {
        Checkpoint(logStartOffset: logStartOffset, active: active, producers: producers, cleaned: cleaned)
    }

    /// The state as of now, for the flusher to write when all of it is on disk.
    func dueCheckpoint() -> CheckpointFile? {
        guard checkpoints.isDue else { return nil }
        checkpoints.taken()
        return CheckpointFile(path: checkpointPath, bytes: checkpoint.encoded())
    }

    /// Syncs everything and leaves a checkpoint at the very end, so that opening reads nothing.
    package func close() throws(LogError) {
        guard closed == nil else { return }
        guard !checkpoints.isCurrent else { return abandon("the broker is stopping") }
        do throws(DiskError) {
            for file in flush.underWay + (flush.full + [active]).compactMap(\.file) {
                try environment.disk.sync(file)
            }
            if flush.directoryIsDirty || flush.isUnderWay { try environment.disk.syncDirectory(directory) }
            try environment.disk.replace(checkpointPath, with: checkpoint.encoded())
        } catch {
            abandon("it could not be closed well")
            throw .disk(error)
        }
        durableOffset = endOffset
        abandon("the broker is stopping")
    }

    /// Gives back everything in memory without touching the disk.
    func abandon(_ why: String) {
        closed = why
        for segment in segments { environment.open.close(segment) }
        let waiters = flush.waiters
        flush = FlushState()
        for waiter in waiters { waiter.done(waiter.offset <= durableOffset ? nil : .closed(why)) }
    }
}
