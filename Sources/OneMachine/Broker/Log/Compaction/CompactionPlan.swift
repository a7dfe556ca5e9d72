/// The input of a compaction, taken from the log on the loop thread. It has only closed files and plain
/// values, so that a worker can run the pass while the log takes appends.
struct CompactionPlan: Sendable {
    /// A closed segment.
    struct Source: Sendable, Equatable {
        var path: String
        var baseOffset: Int64
        var endOffset: Int64
        var size: Int
        /// Whether some batches are damaged. Such a file stays as it is, so that a person can still
        /// restore it.
        var isDamaged = false
    }

    /// The log's number in its store.
    var log: Int
    var incarnation: Int
    var directory: String
    /// All closed segments that may be compacted, from the log's start on.
    var sources: [Source]
    /// The pass need not read keys below this offset, because an earlier pass compacted them.
    var firstDirty: Int64
    /// Tombstones and markers below this offset have had their grace time.
    var removableBelow: Int64
    var aborted: [Producers.AbortedRange]
    /// The base offset of each known producer's last batch, by producer id. The batch's sequence must
    /// survive.
    var lastBatches: [Int64: Int64]
    /// The limit for the size of a segment.
    var segmentBytes: Int
    var keysMax = KeyMap.keysMax
}

/// The result of a compaction, with files that will replace others.
struct CompactionResult: Sendable {
    /// One new segment that replaces neighboring segments.
    struct Group: Sendable {
        var sources: [CompactionPlan.Source]
        var swapPath: String
        var summary: SegmentSummary
    }

    var log: Int
    /// The log's incarnation when the pass was planned. The files fit no other incarnation.
    var incarnation: Int
    var groups: [Group] = []
    /// The pass has compacted all offsets below this one.
    var cleanedUpTo: Int64 = 0
    /// The pass has removed the expired tombstones and markers below this offset.
    var removedBelow: Int64 = 0
    var error: LogError?
    /// Files of a failed pass that could not be removed.
    var leftovers: [String] = []
}
