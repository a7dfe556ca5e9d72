package import Kafka
internal import Lifecycle
package import Store
package import Telemetry

/// The loop that owns views. They call it, on the loop's thread.
package protocol TopicViewsOwner: AnyObject {
    /// The time for decisions, in milliseconds since 1970.
    var decisionTime: Int64 { get }
    /// Makes the loop read its current batch and all prefetched records again.
    func startOverLater()
    /// Reports a step to tests.
    func viewsDidReach(_ step: TopicViews.Step)
}

/// The views of one compacted topic, one for each partition of a loop, and the reader of the topic. Pinned to the
/// loop's thread.
///
/// A view is a copy of a partition in a file (`TopicView`). Beside each view is an `Overlay` in memory with two kinds of
/// rows: *committed* rows, which the view has not read back yet, and *repeated* rows. A repeated row differs from the
/// committed row only in its times. It is not written to the topic, so the view gets it from the overlay.
///
/// Every failure here has one repair, in the loop: it starts over from the committed offsets, after the views have read
/// everything that was written.
package final class TopicViews {
    /// The steps that `viewsDidReach` reports.
    package enum Step: Sendable { case opened, written }

    /// The pause before a full disk is tried again.
    static let retryMilliseconds = 1000
    /// The number of records that one iteration reads and writes. During this time all other work of the loop waits.
    private static let recordsMax = 3000
    /// The size of the records that one iteration reads.
    private static let bytesMax = 16 << 20
    /// The memory for sorting rows in restores, of all views together.
    static let restoreBytesMax = 24 << 20
    /// The least memory that one view gets for sorting.
    static let restoreBytesMin = 1 << 20
    /// A view writes its pending rows when it has this many. More would cost memory: a file keeps the memory of its
    /// largest transaction, and each row can take separate pages.
    static let writtenRowsMax = 250

    let definition: TopicViewDefinition
    let directory: String
    let limits: EnvironmentLimits
    /// The present boot of the machine. A file that an earlier boot left open is discarded.
    let boot: BootID
    /// The cluster's id. A file of another cluster is discarded.
    let cluster: String
    let reader: PartitionReader
    let log: Log
    let time: StageTime
    let metrics: TopicViewMetrics
    /// Set before the first call.
    package weak var owner: (any TopicViewsOwner)?
    /// The records of the last poll, until the views have them.
    var batch = RecordBatch(recordsMax: recordsMax, bytesMax: bytesMax)
    /// The open views. They stay open during a rebalance, because most partitions return.
    var openViews: [Int32: TopicView] = [:]
    /// The overlays of the assigned partitions.
    package var overlays: [Int32: Overlay] = [:]
    /// Set while the disk is too full to write the files. All work of the loop waits then.
    package internal(set) var diskFull: DiskFullState?
    /// The number of records in the last read.
    package internal(set) var readCount = 0
    /// The newest query of `confirmFreshness`.
    var endsQuery: OffsetQueryID?
    /// Whether the last iteration opened a file and others are still closed. Each iteration opens one, so the loop must
    /// not wait before the next.
    package internal(set) var isOpening = false

    /// - Parameters:
    ///   - directory: the parent of the views' directories. A view's directory has the table's name and the
    ///     partition's number.
    package init(
        definition: TopicViewDefinition, directory: String, limits: EnvironmentLimits,
        in kafkaCluster: Kafka.Cluster, log: Log, metrics: Metrics, viewMetrics: TopicViewMetrics,
        time: StageTime
    ) throws {
        self.definition = definition
        self.directory = directory
        self.limits = limits
        self.log = log
        self.time = time
        self.metrics = viewMetrics
        boot = try BootID.current()
        reader = try kafkaCluster.makeReader(of: definition.topic, log: log, metrics: metrics)
        guard let cluster = reader.clusterID(withinMilliseconds: TransactionRunner.startMillisecondsMax)
        else {
            throw StageFailure.client("the cluster did not return its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// A file descriptor that is readable while records wait.
    package var descriptor: Int32 { reader.descriptor }

    /// The view of a partition. Nil if its file is not open.
    package subscript(partition: Int32) -> TopicView? { openViews[partition] }

    /// The number of rows that are committed and not read back.
    package var overlayRowCount: Int { overlays.values.reduce(0) { $0 + $1.unreadCount } }
    /// The size of all rows in the overlays, also of the repeated ones.
    package var overlayByteCount: Int { overlays.values.reduce(0) { $0 + $1.byteCount } }
    /// The number of repeated rows that are only in memory.
    package var repeatedRowCount: Int { overlays.values.reduce(0) { $0 + $1.repeatedCount } }

    var decisionTime: WallTime { WallTime(milliseconds: owner?.decisionTime ?? 0) }

    // MARK: Assignment

    /// Starts to read each partition after its file's offset. The overlays begin empty: the commits of this loop are in
    /// the topic, and the views read them back.
    package func startReading(_ numbers: some Collection<Int32>) throws {
        try writeRepeatedRows()
        overlays = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Overlay()) })
        reader.assign(startingAt: numbers.compactMap { openViews[$0]?.startPosition })
    }

    /// Stops reading, because all partitions were revoked or lost. The files stay open.
    package func releaseAll() throws {
        try writeRepeatedRows()
        overlays = [:]
        reader.release()
    }

    // MARK: Overlays

    /// Changes many rows of one overlay. It is taken out of the dictionary, so that it is looked up only once.
    package func changeOverlay(of partition: Int32, body: (inout Overlay) -> Void) {
        guard var overlay = overlays.removeValue(forKey: partition) else { return }
        defer { overlays[partition] = overlay }
        body(&overlay)
    }

    /// Moves the repeated rows from the overlays to the views. The file stays right even if another process gets the
    /// partition now: the commits of that process have higher offsets, so they overwrite these rows when the view reads
    /// them.
    package func writeRepeatedRows() throws {
        for partition in overlays.keys {
            var keys = overlays[partition]?.writableRepeatedKeys[...] ?? []
            while !keys.isEmpty, diskFull == nil, let view = openViews[partition] {
                changeOverlay(of: partition) { overlay in
                    for key in keys.prefix(Self.writtenRowsMax) {
                        guard let record = overlay.takeRepeatedRow(of: key) else { continue }
                        view.put(key: key.bytes.span, value: record.span)
                    }
                }
                keys = keys.dropFirst(Self.writtenRowsMax)
                if view.pendingRowCount > 0 { try writePendingRows(of: partition) }
            }
        }
    }

    // MARK: Closing

    /// Closes the reader and all files.
    package func closeAll() throws {
        try writeRepeatedRows()
        batch.clear()
        reader.close()
        for view in openViews.values { close(view) }
        openViews.removeAll()
    }
}
