package import Kafka
internal import Lifecycle
package import Store
package import Telemetry

/// The loop that owns the views.
package protocol TopicViewsOwner: AnyObject {
    /// The time for decisions, in milliseconds since 1970.
    var decisionTime: Int64 { get }
    /// Makes the loop read its current batch and all prefetched records again.
    func startOverLater()
    /// Reports a step to tests.
    func viewsDidReach(_ step: TopicViews.Step)
}

/// The views of one compacted topic, one for each partition of a loop, and the consumer that reads the topic for them.
/// Beside each view is an overlay with the rows that the loop has committed and the view has not read back. Pinned to
/// the loop's thread.
///
/// Every failure here has one repair, in the loop: it starts over from the committed offsets, after the views have read
/// everything that was written.
package final class TopicViews {
    package enum Step: Sendable { case opened, written }

    /// The pause before a full disk is tried again.
    static let retryMilliseconds = 1000
    /// The size of the prefetch queue. Small records take several times as much memory.
    private static let prefetchKibibytesMax = 8192
    /// The most kibibytes, still compressed, of one partition in a broker's answer. So an answer holds records of
    /// several partitions.
    private static let partitionKibibytesMax = 256
    /// The most kibibytes of one broker's answer, still compressed. It bounds the answers of many partitions.
    private static let fetchKibibytesMax = 4096
    /// The longest wait of a fetch for new records. These fetches are most of the cost of an idle Flotilla.
    private static let fetchMilliseconds = 250
    /// The number of records that one iteration reads and writes. During this time all other work of the loop waits.
    private static let recordsMax = 3000
    /// The number of pending rows from which a view writes them. A file keeps the memory of its largest transaction,
    /// and each row can take separate pages.
    private static let writtenRowsMax = 250

    let definition: TopicViewDefinition
    let directory: String
    let limits: EnvironmentLimits
    let boot: BootID
    let cluster: String
    private let consumer: Consumer
    let log: Log
    let time: StageTime
    let metrics: TopicViewMetrics
    /// The owner. It is set before the first call.
    package weak var owner: (any TopicViewsOwner)?
    private var batch = RecordBatch(recordsMax: recordsMax, bytesMax: 16 << 20)
    /// The open views. They stay open during a rebalance, because most partitions return.
    var openViews: [Int32: TopicView] = [:]
    /// The overlays of the assigned partitions.
    package var overlays: [Int32: Overlay] = [:]
    package internal(set) var diskFull: DiskFullState?
    /// The number of records in the last read.
    package private(set) var readCount = 0
    /// The newest query of `confirmFreshness`.
    private var endsQuery: OffsetQueryID?
    /// Whether a view was opened and the next iteration must open another one.
    package internal(set) var isOpening = false

    /// - Parameters:
    ///   - directory: the parent of the views' directories. A view's directory has the table's name and the
    ///     partition's number.
    ///   - name: the consumer's name in metrics.
    package init(
        definition: TopicViewDefinition, directory: String, limits: EnvironmentLimits,
        kafka: KafkaSettings,
        name: String,
        log: Log, metrics: Metrics, viewMetrics: TopicViewMetrics, time: StageTime
    ) throws {
        self.definition = definition
        self.directory = directory
        self.limits = limits
        self.log = log
        self.time = time
        self.metrics = viewMetrics
        boot = try BootID.current()
        var options = ConsumerOptions(membership: .manual)
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        options.partitionKibibytesMax = Self.partitionKibibytesMax
        options.fetchKibibytesMax = Self.fetchKibibytesMax
        // An empty partition reports its end after one fetch wait, and a start waits for these ends.
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        consumer = try Consumer(settings: kafka, options: options, name: name, log: log, metrics: metrics)
        guard let cluster = consumer.clusterID(withinMilliseconds: TransactionRunner.startMillisecondsMax)
        else {
            throw StageFailure.client("the cluster did not return its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// A file descriptor that is readable while records wait.
    package var descriptor: Int32 { consumer.descriptor }

    package subscript(partition: Int32) -> TopicView? { openViews[partition] }
    package var overlayRowCount: Int { overlays.values.reduce(0) { $0 + $1.unreadCount } }
    package var overlayByteCount: Int { overlays.values.reduce(0) { $0 + $1.byteCount } }

    /// The number of repeated rows that are only in memory.
    package var repeatedRowCount: Int { overlays.values.reduce(0) { $0 + $1.repeatedCount } }

    var decisionTime: WallTime { WallTime(milliseconds: owner?.decisionTime ?? 0) }

    // MARK: Reading

    /// Starts to read each partition after its file's offset, with empty overlays. Commits of this loop are in the
    /// topic, so the views read them back.
    package func startReading(_ numbers: some Collection<Int32>) throws {
        try writeRepeatedRows()
        overlays = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Overlay()) })
        try consumer.assign(startingAt: numbers.compactMap { openViews[$0]?.startPosition })
    }

    /// Stops reading, because all partitions were revoked or lost. The files stay open.
    package func releaseAll() throws {
        try writeRepeatedRows()
        overlays = [:]
        try? consumer.release()
    }

    /// Reads records of the topic and writes them to the files. Returns the partitions whose views have read everything
    /// that was written.
    package func read(waitMilliseconds: Int32 = 0) throws -> [Int32] {
        readCount = 0
        if diskFull != nil { return [] }
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        readCount = batch.count
        var changedPartitions = try bufferRecords()
        let result = try handle(events)
        if !result.outdatedFiles.isEmpty {
            try discard(result.outdatedFiles)
            return []
        }
        changedPartitions.formUnion(result.endedPartitions)
        for partition in changedPartitions { try writePendingRows(of: partition) }
        let ended = result.endedPartitions
        return ended.filter(isComplete)
    }

    /// Gives the records of the batch to their views. Returns the partitions with records.
    private func bufferRecords() throws -> Set<Int32> {
        var changedPartitions = Set<Int32>()
        // Records of one partition follow one another in the batch, so their view is looked up once.
        var (partition, view): (Int32, TopicView?) = (-1, nil)
        for index in 0..<batch.count {
            if batch[index].partition != partition {
                partition = batch[index].partition
                view = openViews[partition]
                if view != nil { changedPartitions.insert(partition) }
            }
            guard let openView = view else { continue }
            openView.buffer(batch[index])
            guard openView.pendingRowCount >= Self.writtenRowsMax else { continue }
            try writePendingRows(of: partition)
            // The view is gone if its file was damaged.
            view = openViews[partition]
        }
        batch.clear()
        return changedPartitions
    }

    /// The results of a poll's events.
    private struct EventResult {
        /// The partitions whose end was reached.
        var endedPartitions: [Int32] = []
        /// The files whose offset is out of range: the topic was created again, or retention deleted the records after
        /// it.
        var outdatedFiles: [(partition: TopicPartition, reason: String)] = []
    }

    private func handle(_ events: [ConsumerEvent]) throws -> EventResult {
        var result = EventResult()
        for event in events {
            switch event {
            case .reachedEnd(let partition, let offset):
                openViews[partition.partition]?.advance(to: offset, now: decisionTime)
                result.endedPartitions.append(partition.partition)
            case .queryCompleted(let id, .watermarks(let ends)) where id == endsQuery:
                try confirmFreshness(from: ends)
            case .failed(.outOfRange(let partition, let reason)):
                result.outdatedFiles.append((partition, reason))
            case .failed(.unusable(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("the topic of a view cannot be read at present", .field("error", failure))
            default: break
            }
        }
        return result
    }

    /// Whether a view has read everything that was written.
    ///
    /// A read-committed consumer ends where the oldest open transaction begins. Records that the previous owner of the
    /// partition committed can lie behind that point, if their commit marker is late. So the end that the consumer
    /// reports is not enough.
    private func isComplete(_ partition: Int32) -> Bool {
        guard overlays[partition] != nil, let view = openViews[partition], view.pendingRowCount == 0,
            let ends = consumer.knownWatermarks(of: view.topicPartition), view.appliedOffset >= ends.high
        else { return false }
        overlays[partition]?.forgetLostRows(at: time.now())
        return true
    }

    /// Writes the pending rows of a view to its file.
    package func writePendingRows(of partition: Int32) throws {
        guard let view = openViews[partition], diskFull == nil else { return }
        do throws(StoreError) {
            try writePendingRows(to: view)
            metrics.appliedOffset(of: partition).set(Double(view.appliedOffset))
            owner?.viewsDidReach(.written)
        } catch {
            if error.isTransient { return waitForDiskSpace(after: error) }
            try rebuild(partition, after: error)
        }
    }

    private func writePendingRows(to view: TopicView) throws(StoreError) {
        // The overlay is taken out of the dictionary, so that it is looked up once and not for each row.
        var overlay = overlays.removeValue(forKey: view.topicPartition.partition)
        defer { overlays[view.topicPartition.partition] = overlay }
        try view.writePendingRows { overlay?.markRead($0) }
    }

    /// Changes many rows of one overlay.
    package func changeOverlay(of partition: Int32, body: (inout Overlay) -> Void) {
        guard var overlay = overlays.removeValue(forKey: partition) else { return }
        defer { overlays[partition] = overlay }
        body(&overlay)
    }

    /// Moves the repeated rows from the overlays to the views. A repetition follows from records that the view has
    /// read. So it stays right if the partition moves: later commits of other owners have higher offsets and overwrite
    /// it.
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

    // MARK: Freshness

    /// Asks for the ends of the partitions, to confirm that the files of quiet partitions are up to date. Otherwise
    /// such a file looks as old as its last record, and the next start rebuilds it without need.
    package func confirmFreshness() {
        let partitions = overlays.keys.compactMap { openViews[$0]?.topicPartition }
        if !partitions.isEmpty { endsQuery = consumer.submit(.watermarks(partitions)) }
    }

    private func confirmFreshness(from ends: [TopicPartition: Watermarks]) throws {
        for (topicPartition, watermarks) in ends where overlays[topicPartition.partition] != nil {
            guard let view = openViews[topicPartition.partition], watermarks.high <= view.appliedOffset else {
                continue
            }
            view.advance(to: view.appliedOffset, now: decisionTime)
            try writePendingRows(of: topicPartition.partition)
        }
    }

    // MARK: Closing

    /// Closes the consumer and all files.
    package func closeAll() throws {
        try writeRepeatedRows()
        batch.clear()
        _ = consumer.close()
        for view in openViews.values { close(view) }
        openViews.removeAll()
    }
}
