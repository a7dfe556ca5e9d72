internal import Telemetry

/// The log of one partition: appends, reads, look-ups by time, and recovery after a crash.
///
/// Confined to the broker's loop thread. Long work leaves it as a value: syncs go to the `Flusher`,
/// compactions to a `CompactionPass`. It must never show a reader a record that a crash could remove, or
/// bytes that differ from the written ones.
package final class PartitionLog {
    package let topic: String
    package let partition: Int32
    let id: Int
    let directory: String
    let environment: LogEnvironment
    package internal(set) var settings: TopicSettings

    /// In order of offset, without gaps; the last one is written to.
    var segments: [Segment] = []
    var producers = Producers()
    var compactionProgress = CompactionProgress()

    package internal(set) var logStartOffset: Int64 = 0
    /// The offset that the next record gets.
    package internal(set) var endOffset: Int64 = 0
    /// Everything below is on disk.
    package internal(set) var durableOffset: Int64 = 0
    /// Committed readers must stop here.
    package internal(set) var lastStableOffset: Int64 = 0

    var flush = FlushState()
    var checkpoints = CheckpointState()
    var positions = ReadPositions()
    var nextProducerExpiry: Int64 = 0
    /// Compactions since the start have removed the expired tombstones and markers below this offset.
    var removedBelow: Int64 = 0
    var nextCompaction: Int64 = 0
    /// Whether a compaction is under way. Its files must stay where they are.
    var isCompacting = false
    /// The offset at which a reopening after a failed sync cuts the log.
    var cutOffset: Int64?
    /// When the log was last opened, in milliseconds since 1970. All records that recovery reads are
    /// older, even if their timestamps say otherwise.
    var recoveredAt: Int64 = 0
    /// Number of reopenings. Files that a worker began for an earlier incarnation must not be used.
    var incarnation = 0
    /// Whether the last append failed, so that a failure is logged once and not for each retry.
    var isFailing = false
    /// Whether the last removal of old segments failed, so that a failure is logged once.
    var isRetentionFailing = false
    /// Files in the directory that the log no longer reads.
    var setAsideFiles = 0
    /// Damaged offsets that were reported.
    var reportedDamage: Set<Int64> = []
    /// Segments, by first offset, in which a compaction met damage: they stay as they are.
    var damagedSegments: Set<Int64> = []
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

    var active: Segment {
        guard let last = segments.last else { preconditionFailure("an open log has a segment") }
        return last
    }

    /// Readers see records below this.
    package var highWatermark: Int64 {
        environment.flush == .everyAck ? durableOffset : endOffset
    }

    /// Bytes in all segments.
    package var size: Int { segments.reduce(0) { $0 + $1.size } }

    package var segmentCount: Int { segments.count }

    func checkOpen() throws(LogError) {
        if let closedReason { throw .closed(closedReason) }
    }
}

/// The parts that all logs of a broker share.
struct LogEnvironment {
    var disk: Disk
    var open: OpenSegments
    var flusher: Flusher
    var flush: FlushPolicy
    /// Whether the machine was up since the data directory was last open. Then all pages that a dead
    /// process wrote are there, in order.
    var machineStayedUp: Bool
    /// The wall clock, for recovery. All other calls get the time as an argument.
    var clock: () -> WallTime
    var log: Log
    var counters: LogCounters
}
