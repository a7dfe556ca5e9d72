package import Kafka
package import Lifecycle
package import Store
package import Telemetry
internal import Topics

/// A full disk. All views wait, because they share it.
package struct DiskFullState: Sendable {
    package var retryAt: Instant
    package var reason: String

    package init(retryAt: Instant, reason: String) {
        self.retryAt = retryAt
        self.reason = reason
    }
}

/// The loop that owns the views.
package protocol TopicViewsOwner: AnyObject {
    /// The time for decisions, in milliseconds since 1970.
    var decisionTime: Int64 { get }
    /// Makes the loop read its current batch and all prefetched records again.
    func startOverLater()
    func viewsDidReach(_ step: TopicViews.Step)
}

/// The views of a loop's partitions of one compacted topic. Each view has an overlay with the rows that
/// the loop has committed and the view has not read back. Pinned to the loop's thread.
///
/// Every failure here has one repair, in the loop: it starts over from the committed offsets, after the views
/// have read everything that was written.
package final class TopicViews {
    package enum Step: Sendable { case opened, written }

    /// The pause before a full disk is tried again.
    private static let retryMilliseconds = 1000
    /// The size of the prefetch queue. In memory, small records take several times as much.
    private static let prefetchKibibytesMax = 8192
    /// The size, still compressed, that one partition can take in a broker's answer. So an answer holds
    /// records of several partitions.
    private static let partitionKibibytesMax = 256
    /// The longest wait of a fetch for new records. These fetches are most of the cost of an idle
    /// installation.
    private static let fetchMilliseconds = 250
    /// The number of records that one iteration takes and writes. All other work of the loop waits for
    /// that long.
    private static let recordsMax = 3000
    /// The number of rows that one file transaction writes. A file keeps the memory of its largest
    /// transaction, and each row can take separate pages.
    private static let writtenRowsMax = 250

    private let definition: TopicViewDefinition
    private let directory: String
    private let limits: EnvironmentLimits
    private let boot: BootID
    private let cluster: String
    private let consumer: Consumer
    private let log: Log
    private let time: StageTime
    private let metrics: TopicViewMetrics
    /// The owner. It is set before the first call.
    package weak var owner: (any TopicViewsOwner)?
    private var batch = RecordBatch(recordsMax: recordsMax, bytesMax: 16 << 20)
    /// The open files. They stay open during a rebalance, because most partitions return.
    private var files: [Int32: TopicView] = [:]
    /// The overlays of the assigned partitions.
    package var overlays: [Int32: Overlay] = [:]
    package private(set) var diskFull: DiskFullState?
    /// The number of records in the last read.
    package private(set) var readCount = 0
    /// The newest question that `confirmFreshness` asked.
    private var endsQuery: OffsetQueryID?
    /// Whether a view was opened and the next iteration must open another one.
    package private(set) var isOpening = false

    /// - Parameters:
    ///   - directory: the parent of the views' directories. A view's directory has the table's name and the
    ///     partition's number.
    ///   - name: the consumer's name in metrics.
    package init(
        definition form: TopicViewDefinition, directory: String, limits: EnvironmentLimits,
        kafka: KafkaSettings,
        name: String,
        log: Log, metrics: Metrics, viewMetrics: TopicViewMetrics, time: StageTime
    ) throws {
        self.definition = form
        self.directory = directory
        self.limits = limits
        self.log = log
        self.time = time
        self.metrics = viewMetrics
        boot = try BootID.current()
        var options = ConsumerOptions(membership: .manual)
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        options.partitionKibibytesMax = Self.partitionKibibytesMax
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

    package subscript(partition: Int32) -> TopicView? { files[partition] }
    package var overlayRows: Int { overlays.values.reduce(0) { $0 + $1.unreadCount } }
    package var overlayBytes: Int { overlays.values.reduce(0) { $0 + $1.byteCount } }

    /// The number of repeated rows that are only in memory.
    package var repeatedRows: Int { overlays.values.reduce(0) { $0 + $1.repeatedCount } }

    private var decisionTime: WallTime { WallTime(milliseconds: owner?.decisionTime ?? 0) }

    // MARK: Opening

    /// Closes the files of all other partitions.
    package func closeFiles(except numbers: some Collection<Int32>) {
        overlays = overlays.filter { numbers.contains($0.key) }
        for partition in files.keys where !numbers.contains(partition) {
            if let view = files.removeValue(forKey: partition) { close(view) }
        }
    }

    /// Opens one file in each iteration. A large file is checked completely before it is used, and a
    /// group member must poll in between.
    ///
    /// - Returns: whether all files are open.
    package func openNextFile(of numbers: some Collection<Int32>) throws -> Bool {
        let closed = numbers.filter { files[$0] == nil }.sorted()
        isOpening = false
        guard let partition = closed.first else { return true }
        guard let view = try open(partition) else { return false }
        files[partition] = view
        isOpening = closed.count > 1
        return !isOpening
    }

    private func open(_ partition: Int32) throws -> TopicView? {
        do throws(StoreError) {
            let view = try makeView(for: partition)
            logOpening(of: view)
            owner?.viewsDidReach(.opened)
            return view
        } catch {
            guard error.isTransient else { throw error }
            waitForDiskSpace(after: error)
            return nil
        }
    }

    private func makeView(for partition: Int32) throws(StoreError) -> TopicView {
        try TopicView(
            definition: definition, partition: partition,
            directory: "\(directory)/\(definition.table)-\(partition)",
            cluster: cluster,
            deleteRetentionMilliseconds: TopicLayout.deleteRetentionMilliseconds, limits: limits,
            now: decisionTime,
            boot: boot)
    }

    private func logOpening(of view: TopicView) {
        metrics.countOpenedView(view.openingState)
        switch view.openingState {
        case .discarded(let reason):
            log.warning(
                "view discarded, it is built anew from its topic",
                .field("partition", view.topicPartition.partition),
                .field("reason", reason.description))
        case .empty, .resumed:
            log.debug(
                "view opened", .field("partition", view.topicPartition.partition),
                .field("offset", view.appliedOffset))
        }
    }

    private func close(_ view: TopicView) {
        do throws(StoreError) {
            try view.close()
        } catch {
            log.warning(
                "a view was not closed cleanly; its file is checked more closely at the next start",
                .field("partition", view.topicPartition.partition), .field("error", error))
        }
    }

    // MARK: Reading

    /// Starts to read each topic after the file's offset. Earlier commits are in the topic, so the views
    /// read them back.
    package func startReading(_ numbers: some Collection<Int32>) throws {
        try writeRepeatedRows()
        overlays = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Overlay()) })
        try consumer.assign(startingAt: numbers.compactMap { files[$0]?.startPosition })
    }

    /// Releases all partitions.
    package func releaseAll() throws {
        try writeRepeatedRows()
        overlays = [:]
        try? consumer.release()
    }

    /// Reads records of the topic and writes them to the files.
    ///
    /// - Returns: the partitions whose views have read everything that was written.
    package func read(waitMilliseconds: Int32 = 0) throws -> [Int32] {
        readCount = 0
        if diskFull != nil { return [] }
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        readCount = batch.count
        var touched = Set<Int32>()
        // Records of one partition follow one another in the batch.
        var (partition, view): (Int32, TopicView?) = (-1, nil)
        for index in 0..<batch.count {
            if batch[index].partition != partition {
                partition = batch[index].partition
                view = files[partition]
                if view != nil { touched.insert(partition) }
            }
            guard let heard = view else { continue }
            heard.buffer(batch[index])
            guard heard.pendingRowCount >= Self.writtenRowsMax else { continue }
            try writePendingRows(of: partition)
            // The view is gone if its file was damaged.
            view = files[partition]
        }
        batch.clear()
        var ended: [Int32] = []
        var outdated: [(place: TopicPartition, text: String)] = []
        for event in events {
            switch event {
            case .reachedEnd(let place, let offset):
                files[place.partition]?.advance(to: offset, now: decisionTime)
                touched.insert(place.partition)
                ended.append(place.partition)
            case .queryCompleted(let id, .watermarks(let ends)) where id == endsQuery:
                try confirmFreshness(from: ends)
            // The offset is out of range: the topic was created again, or retention deleted the records
            // after the file's offset.
            case .failed(.outOfRange(let place, let text)): outdated.append((place, text))
            case .failed(.unusable(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("the topic of a view cannot be read at present", .field("error", failure))
            default: break
            }
        }
        if !outdated.isEmpty {
            try discard(outdated)
            return []
        }
        for partition in touched { try writePendingRows(of: partition) }
        return ended.filter(isComplete)
    }

    /// A read-committed consumer ends where the oldest open transaction begins. Records that the previous
    /// owner of the partition committed can lie behind that point, if their commit marker is late. So the
    /// view is complete only at the end of everything that was written.
    private func isComplete(_ partition: Int32) -> Bool {
        guard overlays[partition] != nil, let view = files[partition], view.pendingRowCount == 0,
            let ends = consumer.knownWatermarks(of: view.topicPartition), view.appliedOffset >= ends.high
        else { return false }
        overlays[partition]?.forgetLostRows(at: time.now())
        return true
    }

    /// Writes the pending rows of a view to its file.
    package func writePendingRows(of partition: Int32) throws {
        guard let view = files[partition], diskFull == nil else { return }
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
        // The overlay is taken out first, so that it is looked up once and not for each row.
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

    /// Gives the repeated rows to the views. A repetition follows from records that the view has read. So
    /// it stays right if the partition moves: later commits of other owners have higher offsets and overwrite
    /// it.
    package func writeRepeatedRows() throws {
        for partition in overlays.keys {
            guard let view = files[partition], diskFull == nil, overlays[partition]?.repeatedCount != 0 else {
                continue
            }
            overlays[partition]?.takeRepeatedRows { key, record in
                view.put(key: key.bytes.span, value: record.span)
            }
            if view.pendingRowCount > 0 { try writePendingRows(of: partition) }
        }
    }

    /// Asks for the ends of the partitions, to confirm that the files of quiet partitions are up to date.
    /// Otherwise such a file looks as old as its last record and is rebuilt for nothing.
    package func confirmFreshness() {
        let places = overlays.keys.compactMap { files[$0]?.topicPartition }
        if !places.isEmpty { endsQuery = consumer.submit(.watermarks(places)) }
    }

    private func confirmFreshness(from ends: [TopicPartition: Watermarks]) throws {
        for (place, ends) in ends where overlays[place.partition] != nil {
            guard let view = files[place.partition], ends.high <= view.appliedOffset else { continue }
            view.advance(to: view.appliedOffset, now: decisionTime)
            try writePendingRows(of: place.partition)
        }
    }

    // MARK: Failures

    /// Waits for disk space and stays in the group. If the member left, its partitions would go to
    /// another process whose disk may be as full.
    private func waitForDiskSpace(after error: StoreError) {
        log.error("no room for the state of this process; its work waits", .field("error", error))
        diskFull = DiskFullState(
            retryAt: time.now().advanced(byMilliseconds: Self.retryMilliseconds),
            reason: error.description)
        owner?.startOverLater()
    }

    /// Tries a full disk again. The loop calls it once a second.
    ///
    /// - Parameter numbers: the assigned partitions. Some of their files may not be open yet.
    package func retryFullDisk(at now: Instant, opening numbers: some Collection<Int32>) throws {
        guard let blocked = diskFull, now >= blocked.retryAt else { return }
        diskFull = nil
        for partition in files.keys.sorted() where diskFull == nil { try writePendingRows(of: partition) }
        if diskFull == nil { _ = try openNextFile(of: numbers) }
        if diskFull == nil { log.info("there is room again; work goes on") }
    }

    /// Discards a damaged file. The file is a cache, so the view reads its topic again.
    package func rebuild(_ partition: Int32, after error: StoreError) throws {
        guard error.isCorruption else { throw error }
        log.warning(
            "a view is damaged and is rebuilt from its topic", .field("partition", partition),
            .field("error", error))
        if let view = files.removeValue(forKey: partition) {
            try view.markUnusable(reason: error.description)
        }
        owner?.startOverLater()
    }

    /// Discards the files that no longer fit their topic, all in one start-over.
    private func discard(_ outdated: [(place: TopicPartition, text: String)]) throws {
        for (place, text) in outdated {
            guard let view = files.removeValue(forKey: place.partition) else { continue }
            log.warning(
                "a view does not fit its topic and is rebuilt from it", .field("partition", place.partition),
                .field("reason", text))
            try view.markUnusable(reason: "\(place): \(text)")
        }
        owner?.startOverLater()
    }

    /// Closes the consumer and all files.
    package func closeAll() throws {
        try writeRepeatedRows()
        batch.clear()
        _ = consumer.close()
        for view in files.values { close(view) }
        files.removeAll()
    }
}
