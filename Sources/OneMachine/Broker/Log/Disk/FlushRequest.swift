/// The files to sync before a log's offsets below `endOffset` are on the disk.
struct FlushRequest: Sendable {
    /// The log's number in its store.
    var log: Int
    var files: [OpenFile]
    /// The directory to sync as well, if a file was created in it.
    var directory: String?
    var endOffset: Int64
    /// The checkpoint to write after the sync.
    var checkpoint: CheckpointFile?
}

/// A checkpoint on its way to the disk.
struct CheckpointFile: Sendable {
    var path: String
    var bytes: [UInt8]
    /// The first offset of the segment that the checkpoint points into.
    var segment: Int64
    /// The number of changes of the log that the checkpoint includes.
    var changes: Int
}

/// The outcome of the checkpoint's write.
enum CheckpointOutcome: Sendable {
    /// The request had no checkpoint, or its sync failed, so none was written.
    case notAsked
    case written(CheckpointFile)
    case failed(DiskError)
}

/// The result of a request.
struct FlushResult: Sendable {
    var log: Int
    var endOffset: Int64
    var error: DiskError?
    var checkpoint = CheckpointOutcome.notAsked
}
