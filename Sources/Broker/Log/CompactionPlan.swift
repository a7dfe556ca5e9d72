/// What a compaction needs to know, taken from the log on the loop thread: closed files and plain
/// values, so that a worker can run it while the log goes on.
struct CompactionPlan: Sendable {
    struct Source: Sendable, Equatable {
        var path: String
        var baseOffset: Int64
        var endOffset: Int64
        var size: Int
        /// Some batches are damaged. The file stays as it is, so that a person can still restore it.
        var isDamaged = false
    }

    var log: Int
    var incarnation: Int
    var directory: String
    /// All closed segments that may be compacted, from the log's start on.
    var sources: [Source]
    /// Records below were compacted before: their keys need not be looked at again.
    var firstDirty: Int64
    /// Tombstones and markers below have had their grace time.
    var removableBelow: Int64
    var aborted: [Producers.Aborted]
    /// The base offset of each known producer's last batch: its sequence must survive.
    var lastBatches: [Int64: Int64]
    var segmentBytes: Int
    var keysMax = KeyMap.keysMax
}

/// What a compaction made: files that wait to take the place of others.
struct CompactionResult: Sendable {
    /// One new segment in place of some neighbours.
    struct Group: Sendable {
        var sources: [CompactionPlan.Source]
        var swapPath: String
        var summary: SegmentSummary
    }

    var log: Int
    /// Of the log when the pass was planned: files of another fit no more.
    var incarnation: Int
    var groups: [Group] = []
    /// Everything below is compacted now.
    var cleanedUpTo: Int64 = 0
    var removedBelow: Int64 = 0
    var error: LogError?
    /// Files of a failed pass that could not be removed.
    var leftovers: [String] = []
}
