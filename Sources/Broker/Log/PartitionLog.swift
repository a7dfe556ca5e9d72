internal import Telemetry

/// The records of one partition: append, read, look up, and what is left of it after a crash.
///
/// Confined to the broker's loop thread. What blocks for long is handed away as a value: syncs to
/// the `Flusher`, compaction to a `CompactionPass`. It must never show a reader a record that a crash
/// could take back, nor bytes that are not the bytes that were written.
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
    var cleaned = CleanedUpTo()

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
    /// What a compaction since the start has removed for good: tombstones and markers below.
    var removedBelow: Int64 = 0
    var nextCompaction: Int64 = 0
    /// Set while a compaction of this log is under way: its files must stay where they are.
    var isCompacting = false
    /// While reopening after a failed sync: what lies from here on is cut.
    var cutOffset: Int64?
    /// When the log was last opened (wall clock, ms). What recovery reads came before, whatever the
    /// clients' times in it say.
    var recoveredAt: Int64 = 0
    /// Counts how often the log was opened anew: what a worker began before must not be put in place.
    var incarnation = 0
    /// The last append failed; said once, not for every producer that tries again.
    var isFailing = false
    /// The last removal of old segments failed; said once.
    var isRetentionFailing = false
    /// Files in the directory that the log no longer reads.
    var setAsideFiles = 0
    /// Damaged offsets that were reported.
    var reportedDamage: Set<Int64> = []
    /// Segments, by first offset, in which a compaction met damage: they stay as they are.
    var damagedSegments: Set<Int64> = []
    /// Why the log takes and gives nothing, nil when it does.
    var closed: String?

    /// Called on the loop thread whenever more records may be read than before.
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
        if let closed { throw .closed(closed) }
    }
}

/// What all logs of a broker share.
struct LogEnvironment {
    var disk: Disk
    var open: OpenSegments
    var flusher: Flusher
    var flush: FlushPolicy
    /// The machine was not down since the data directory was last open: then the pages that a dead
    /// process wrote are all there, in order.
    var machineStayedUp: Bool
    /// The wall clock, for recovery: everything else is told the time.
    var clock: () -> WallTime
    var log: Log
    var counters: LogCounters
}
