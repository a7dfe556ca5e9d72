internal import Telemetry

/// The log of one partition: appends, reads, look-ups by time, and recovery after a crash.
///
/// Confined to the broker's loop thread. Long work leaves it as a value: syncs go to the `Flusher`,
/// compactions to a `CompactionPass`. A reader never gets a record that a crash could remove, or bytes
/// that differ from the written ones.
package final class PartitionLog {
    package let topic: String
    package let partition: Int32
    /// A number that is unique in the store. Other threads return their results under it.
    let id: Int
    /// The path of the directory with the log's files.
    let directory: String
    let environment: LogEnvironment
    package internal(set) var settings: TopicSettings

    /// In order of offset, without gaps; the last one is written to.
    var segments: [Segment] = []
    var producers = Producers()

    /// The offset that the next record gets.
    package internal(set) var endOffset: Int64 = 0
    /// All records below are on the disk.
    package internal(set) var durableOffset: Int64 = 0
    /// Committed readers must stop here.
    package internal(set) var lastStableOffset: Int64 = 0
    /// The first offset that may be read.
    package internal(set) var logStartOffset: Int64 = 0

    /// The sync under way, and the clients that wait for it.
    var flushState = FlushState()
    var checkpoints = CheckpointState()
    /// The ends of recent reads, where consumers probably continue.
    var readPositions = ReadPositions()

    // Upkeep: when something is due next, by the expiry clock, in milliseconds since 1970.

    var nextProducerExpiry: Int64 = 0
    var nextCompaction: Int64 = 0

    // Compaction.

    var compactionProgress = CompactionProgress()
    /// Whether a compaction is under way. Its files must stay where they are.
    var isCompacting = false
    /// Compactions since the start have removed the expired tombstones and markers below this offset.
    var removedBelow: Int64 = 0
    /// Segments, by first offset, in which a compaction met damage: they stay as they are.
    var damagedSegments: Set<Int64> = []

    // Recovery.

    /// The time of the last opening, in milliseconds since 1970. All records that recovery reads are
    /// older, even if their timestamps say otherwise.
    var recoveredAt: Int64 = 0
    /// The offset at which a reopening after a failed sync cuts the log; nil at any other time.
    var cutOffset: Int64?
    /// Number of reopenings. Files that a worker began for an earlier incarnation must not be used.
    var incarnation = 0

    // Reports of failures, once for each failure and not for each retry.

    /// Whether the last append failed.
    var isAppendFailing = false
    /// Whether the last removal of old segments failed.
    var isRetentionFailing = false
    /// Damaged offsets that were reported.
    var reportedDamageOffsets: Set<Int64> = []
    /// Number of files in the directory that the log no longer reads (`SetAsideFile`).
    var setAsideFileCount = 0

    /// The reason why the log is closed, nil if it is open.
    var closedReason: String?

    /// Called on the loop thread when readers may see more records.
    package var onAdvance: (() -> Void)?

    init(
        topic: String, partition: Int32, id: Int, directory: String, settings: TopicSettings,
        environment: LogEnvironment
    ) {
        self.topic = topic
        self.partition = partition
        self.id = id
        self.directory = directory
        self.settings = settings
        self.environment = environment
    }

    /// The newest segment, to which appends go.
    var activeSegment: Segment {
        guard let last = segments.last else { preconditionFailure("an open log has a segment") }
        return last
    }

    /// Readers see records below this offset: the durable ones, or all with `--flush os`.
    package var highWatermark: Int64 {
        environment.flushPolicy == .everyAck ? durableOffset : endOffset
    }

    /// Bytes in all segments.
    package var size: Int { segments.reduce(0) { $0 + $1.size } }

    package var segmentCount: Int { segments.count }

    func checkOpen() throws(LogError) {
        if let closedReason { throw .closed(closedReason) }
    }
}

/// The objects and facts that all logs of a broker share.
struct LogEnvironment {
    var disk: Disk
    var open: OpenSegments
    var flusher: Flusher
    var flushPolicy: FlushPolicy
    /// Whether the machine was up since the data directory was last open. Then all pages that the last
    /// process wrote are there, in order, even if it was killed.
    var machineStayedUp: Bool
    /// The wall clock, for recovery. All other calls get the time as an argument.
    var clock: () -> WallTime
    var log: Log
    var counters: LogCounters
}
