internal import Telemetry

/// The log of one partition: appends, reads, look-ups by time, and recovery after a crash.
///
/// A reader never gets a record that a crash could remove, or bytes that differ from the written ones.
///
/// This file has the state, which the extensions change; each has one subject, for example `+Append`. Confined to
/// the broker's loop thread. Long work leaves the thread as a value: syncs go to the `Flusher`, compactions to a
/// `CompactionPass`.
package final class PartitionLog {
    package let topic: String
    package let partition: Int32
    /// The log's number in its store. Results from other threads name it, because the log may be gone when they
    /// come.
    let id: Int
    /// The path of the directory with the log's files.
    let directory: String
    let environment: LogEnvironment
    package internal(set) var settings: TopicSettings

    /// In order of offset, without gaps. The last one is `activeSegment`.
    var segments: [Segment] = []
    var producers = Producers()

    /// The offset that the next record gets.
    package internal(set) var endOffset: Int64 = 0
    /// All records below this offset are on the disk.
    package internal(set) var durableOffset: Int64 = 0
    /// Consumers that read only committed records stop at this offset.
    package internal(set) var lastStableOffset: Int64 = 0
    /// The first offset that may be read.
    package internal(set) var logStartOffset: Int64 = 0

    /// The sync under way, and the clients that wait for it.
    var flushState = FlushState()
    var checkpoints = CheckpointState()
    /// The ends of recent reads, where consumers probably continue.
    var readPositions = ReadPositions()

    // Upkeep. Times are those of `ExpiryClock`, in milliseconds since 1970.

    /// The next time at which idle producers are forgotten.
    var nextProducerExpiry: Int64 = 0

    // Compaction.

    /// Before this time no compaction begins.
    var nextCompaction: Int64 = 0
    var compactionProgress = CompactionProgress()
    /// Whether a compaction is under way. Its files must stay where they are.
    var isCompacting = false
    /// Compactions of this process have removed the expired tombstones and markers below this offset.
    var tombstonesRemovedBelow: Int64 = 0
    /// Segments, by first offset, in which a compaction met damage: they stay as they are.
    var damagedSegments: Set<Int64> = []

    // Recovery.

    /// The time of the last opening, in milliseconds since 1970. All records that recovery reads are
    /// older, even if their timestamps say otherwise.
    var recoveredAt: Int64 = 0
    /// The offset at which a reopening after a failed sync cuts the log; nil at any other time.
    var cutOffset: Int64?
    /// The number of the current opening, which grows when the log is opened again after a failed sync. The result of a
    /// compaction that began in an earlier opening is not used.
    var incarnation = 0

    // Failures and damage. Each failure is logged once, and not for each retry.

    /// Whether the last append failed.
    var isAppendFailing = false
    /// Whether the last removal of old segments failed.
    var isRetentionFailing = false
    /// Damaged offsets that were reported.
    var reportedDamageOffsets: Set<Int64> = []
    /// Number of files in the directory that the log no longer reads (`SetAsideFile`).
    var setAsideFileCount = 0

    // State.

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

    /// The newest segment, to whose file appends go.
    var activeSegment: Segment {
        guard let last = segments.last else { preconditionFailure("an open log has a segment") }
        return last
    }

    /// Readers see records below this offset: the durable ones, or all with `--flush os`.
    package var highWatermark: Int64 {
        environment.flushPolicy == .everyAck ? durableOffset : endOffset
    }

    /// Bytes in all segments.
    package var byteCount: Int { segments.reduce(0) { $0 + $1.size } }

    package var segmentCount: Int { segments.count }

    func checkOpen() throws(LogError) {
        if let closedReason { throw .closed(closedReason) }
    }
}
