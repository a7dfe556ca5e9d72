internal import Kafka
internal import Lifecycle
internal import Registry
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The registry files of the assigned lanes, and the reader that fills them. Pinned to the loop's thread.
///
/// A file is a cache of its topic. The only repair is to rebuild it. The changes behind the offset that the group has
/// committed are the *news* of a lane. News is final when the loop's transaction has committed its offset. Until then
/// the same news can come again.
final class LaneRegistries {
    /// The file of one lane while it reads to the topic's end.
    private final class Entry {
        enum Progress {
            /// The file was empty. The restore sorts all records below the committed offset before they are written.
            case restoring(LaneRestore)
            case reading
            /// The lane has read everything that was written.
            case complete
        }

        /// Whether the loop applies the lane's records.
        enum Service {
            case notYet
            /// The loop does not apply them yet, and the lane has as many as it can keep.
            case paused
            case served
        }

        let lane: Lane
        var progress = Progress.reading
        var service = Service.notYet
        /// The offset of the next record to take.
        var nextOffset: Int64
        var completeUntil: WallTime
        /// The number of records that were taken and are not in the file.
        var bufferedCount = 0

        init(lane: Lane, completeUntil: WallTime) {
            self.lane = lane
            self.completeUntil = completeUntil
            nextOffset = lane.appliedOffset ?? 0
        }

        var isRestoring: Bool { if case .restoring = progress { true } else { false } }
        var isComplete: Bool { if case .complete = progress { true } else { false } }

        func buffer(_ record: borrowing Kafka.Record) throws(StoreError) {
            if case .restoring(let restore) = progress, record.offset < lane.changesReportedFrom ?? .max {
                try restore.add(key: record.key, value: record.value, offset: record.offset)
            } else {
                try finishRestore()
                bufferedCount += 1
                try lane.apply(key: record.key, value: record.value, offset: record.offset)
            }
            nextOffset = max(nextOffset, record.offset + 1)
            if let time = record.timestamp { completeUntil = WallTime(milliseconds: time) }
        }

        /// Starts to read again from the file's offset.
        func restart(changesReportedFrom: Int64, runBytesMax: Int) throws(StoreError) {
            try lane.restart(changesReportedFrom: changesReportedFrom)
            nextOffset = lane.appliedOffset ?? 0
            bufferedCount = 0
            service = .notYet
            progress =
                lane.appliedOffset == nil
                ? .restoring(LaneRestore(lane: lane, runBytesMax: runBytesMax)) : .reading
        }

        func finishRestore() throws(StoreError) {
            guard case .restoring(let restore) = progress else { return }
            let offset = min(nextOffset, lane.changesReportedFrom ?? nextOffset)
            try restore.finish(AppliedProgress(offset: offset, completeUntil: completeUntil))
            progress = .reading
        }
    }

    /// The pause before a full disk is tried again.
    private static let retryMilliseconds = 1000
    private static let ageMarginMilliseconds: Int64 = 3_600_000
    /// The number of records in one iteration while lanes are restored.
    private static let restoreRecordsMax = 10_000
    /// The number of records in one iteration otherwise. Nearly always they are of one lane. A file keeps the
    /// memory of its largest transaction, and each row can take several pages.
    private static let appliedRecordsMax = 250
    private static let batchBytesMax = 16 << 20
    /// The memory for sorting in restores, summed over all lanes.
    private static let restoreBytesMax = 48 << 20
    /// The least bytes of uncommitted changes at which a lane must apply them, so that all lanes together have at
    /// most `Lane.pendingBytesMax` and this size for each.
    private static let pendingBytesMin = 1 << 20
    /// The least memory for one lane. Smaller runs would make more files than can be merged at once.
    private static let restoreBytesMin = 2 << 20

    private let topic: String
    private let directory: String
    private let limits: Store.EnvironmentLimits
    private let boot: BootID
    private let cluster: String
    private let reader: PartitionReader
    private let log: Log
    private let metrics: LaneMetrics
    private var batch = RecordBatch(recordsMax: restoreRecordsMax, bytesMax: batchBytesMax)
    /// The open files. They stay open during a rebalance, because most lanes return.
    private var entries: [Int32: Entry] = [:]
    private(set) var diskFull: DiskFullState?
    /// Whether the last read was full, so that more records are likely.
    private(set) var hasMore = false

    init(
        topic: String, directory: String, limits: Store.EnvironmentLimits, in kafkaCluster: Kafka.Cluster,
        log: Log,
        metrics: Metrics
    ) throws {
        self.topic = topic
        self.directory = directory
        self.limits = limits
        self.log = log
        self.metrics = LaneMetrics(metrics)
        boot = try BootID.current()
        reader = try kafkaCluster.makeReader(of: topic, log: log, metrics: metrics)
        guard let cluster = reader.clusterID(withinMilliseconds: TransactionRunner.startMillisecondsMax)
        else {
            throw StageFailure.client("the cluster did not return its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// A file descriptor that is readable while records wait.
    var descriptor: Int32 { reader.descriptor }

    subscript(partition: Int32) -> Lane? { entries[partition]?.lane }

    /// Whether pages of the lane may be walked.
    func isComplete(lane partition: Int32) -> Bool { entries[partition]?.isComplete ?? false }

    /// Whether the lane is complete, or must apply its records before it reads more.
    func isReady(lane partition: Int32) -> Bool {
        guard let entry = entries[partition], !entry.isRestoring else { return false }
        return entry.isComplete || isFull(entry)
    }

    /// Returns the group's next offset after all taken records are applied.
    func nextOffset(of partition: Int32) -> Int64 { entries[partition]?.nextOffset ?? 0 }

    /// Whether all taken records are in the file, so that a page shows them. Records below the committed
    /// offset are not news, because another owner reported them. They must be applied all the same.
    func isFullyApplied(lane partition: Int32) -> Bool {
        guard let entry = entries[partition] else { return true }
        return !entry.isRestoring && entry.lane.appliedOffset ?? 0 >= entry.nextOffset
    }

    // MARK: Opening

    func closeFiles(except numbers: some Collection<Int32>) {
        for partition in entries.keys where !numbers.contains(partition) {
            if let entry = entries.removeValue(forKey: partition) { close(entry) }
        }
    }

    /// Opens one file in each iteration. A large file is checked completely before it is used, and a group
    /// member must poll in between.
    ///
    /// - Returns: whether all files are open.
    func openNextFile(of numbers: some Collection<Int32>) throws -> Bool {
        let closed = numbers.filter { entries[$0] == nil }.sorted()
        guard let partition = closed.first else { return true }
        do throws(StoreError) {
            entries[partition] = Entry(lane: try makeLane(partition: partition), completeUntil: .now())
        } catch {
            guard error.isTransient else { throw error }
            waitForDiskSpace(after: error)
            return false
        }
        return closed.count == 1
    }

    private func laneDirectory(of partition: Int32) -> String { "\(directory)/registry-\(partition)" }

    /// Whether the error is about the lane's file.
    func contains(_ error: StoreError, ofLane partition: Int32) -> Bool {
        error.isAbout(directory: laneDirectory(of: partition))
    }

    private func makeLane(partition: Int32) throws(StoreError) -> Lane {
        try Lane(
            directory: laneDirectory(of: partition), partition: TopicPartition(topic, partition),
            origin: cluster,
            ageMaxMilliseconds: TopicLayout.deleteRetentionMilliseconds - Self.ageMarginMilliseconds,
            limits: limits, now: .now(), boot: boot, log: log, metrics: metrics)
    }

    // MARK: Reading

    /// Starts to read each lane. Changes behind the group's committed offset are news, even if the file already has
    /// them.
    ///
    /// - Parameter committed: the committed offsets. Nil for a lane without an offset. Such a lane may still have a
    ///   file, because Kafka expires offsets. Then news begins behind the file. Without a file the lane was never
    ///   begun, and nothing up to the end that it reaches first is news (`.max` until then).
    func startReading(from committed: [Int32: Int64?]) throws {
        var starts: [PartitionStart] = []
        for (partition, offset) in committed {
            guard let entry = try openEntry(of: partition) else { continue }
            let topicPartition = TopicPartition(topic, partition)
            try entry.restart(
                changesReportedFrom: offset ?? entry.lane.appliedOffset ?? .max,
                runBytesMax: max(Self.restoreBytesMin, Self.restoreBytesMax / committed.count))
            if offset == 0 { try finishRestore(of: entry, lane: partition) }
            let start = entry.isRestoring ? nil : entry.lane.resumeOffset
            starts.append(
                PartitionStart(
                    partition: topicPartition,
                    position: start.map { $0 > 0 ? .offset($0) : .beginning } ?? .beginning)
            )
        }
        reader.assign(startingAt: starts)
    }

    /// Returns the lane's open file. A file whose restore was interrupted is opened again, which empties it.
    private func openEntry(of partition: Int32) throws -> Entry? {
        guard let known = entries[partition], known.isRestoring else { return entries[partition] }
        close(known)
        entries[partition] = nil
        _ = try openNextFile(of: [partition])
        return entries[partition]
    }

    func releaseAll() {
        for entry in entries.values { entry.service = .notYet }
        reader.release()
    }

    /// Marks that the loop applies the lane's records from now on.
    func serve(lane partition: Int32) {
        guard let entry = entries[partition] else { return }
        if case .paused = entry.service { reader.resume([TopicPartition(topic, partition)]) }
        entry.service = .served
    }

    /// Reads records of the topic. `commit` applies them and reports the news.
    func read() throws {
        hasMore = false
        if diskFull != nil || mustApplyFirst() { return }
        resizeBatch()
        let events = reader.poll(into: &batch)
        defer { batch.clear() }
        hasMore = batch.count >= batch.recordsMax
        for index in 0..<batch.count {
            let partition = batch[index].partition
            guard let entry = entries[partition] else { continue }
            let record = batch[index]
            do throws(StoreError) {
                try entry.buffer(record)
            } catch {
                return try repair(lane: partition, after: error)
            }
        }
        for event in events {
            switch event {
            case .reachedEnd(let place, let offset): try handleEnd(at: offset, of: place)
            case .failed(.outOfRange(let place, let text)):
                return try repair(
                    lane: place.partition, after: .corrupt(path: place.description, damage: text))
            case .failed(.unusable(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("the registry cannot be read at present", .field("error", failure))
            default: break
            }
        }
    }

    /// Whether a lane must apply its records before more are read. A lane that the loop does not serve yet,
    /// because its other files are being restored, is paused alone. The other lanes continue to read.
    private func mustApplyFirst() -> Bool {
        for (partition, entry) in entries where isFull(entry) {
            switch entry.service {
            case .served: return true
            case .paused: break
            case .notYet:
                reader.pause([TopicPartition(topic, partition)])
                entry.service = .paused
            }
        }
        return false
    }

    private var isRestoring: Bool { entries.values.contains(where: \.isRestoring) }

    /// Whether the lane has as many records as one file transaction should apply.
    private func isFull(_ entry: Entry) -> Bool {
        if entry.isRestoring { return false }
        let pendingBytesMax = max(Self.pendingBytesMin, Lane.pendingBytesMax / max(1, entries.count))
        if entry.lane.pendingByteCount >= pendingBytesMax { return true }
        // While other lanes are restored, the number of records does not count, so that the lane does not delay them.
        return !isRestoring && entry.bufferedCount >= Self.appliedRecordsMax
    }

    private func resizeBatch() {
        let recordsMax = isRestoring ? Self.restoreRecordsMax : Self.appliedRecordsMax
        if batch.recordsMax == recordsMax { return }
        batch = RecordBatch(recordsMax: recordsMax, bytesMax: Self.batchBytesMax)
    }

    /// Takes the end of a partition. A read-committed reader ends where the oldest open transaction begins.
    /// The lane is complete only at the end of everything that was written.
    private func handleEnd(at offset: Int64, of place: TopicPartition) throws {
        guard let entry = entries[place.partition] else { return }
        entry.nextOffset = max(entry.nextOffset, offset)
        entry.completeUntil = .now()
        guard let ends = reader.knownWatermarks(of: place), entry.nextOffset >= ends.high else { return }
        if entry.lane.changesReportedFrom == .max { entry.lane.changesReportedFrom = offset }
        try finishRestore(of: entry, lane: place.partition)
        entry.progress = .complete
    }

    private func finishRestore(of entry: Entry, lane partition: Int32) throws {
        do throws(StoreError) {
            try entry.finishRestore()
        } catch {
            try repair(lane: partition, after: error)
        }
    }

    // MARK: Applying

    /// Applies the taken records, and replaces the contents of `news` by their news.
    func commit(lane partition: Int32, changesInto news: inout LaneChanges) throws(StoreError) {
        news.removeAll()
        guard let entry = entries[partition], !entry.isRestoring else { return }
        try entry.lane.commit(
            AppliedProgress(offset: entry.nextOffset, completeUntil: entry.completeUntil),
            reportingChangesInto: &news)
        entry.bufferedCount = 0
    }

    /// Notes that the group has committed everything below an offset.
    func noteCommit(ofLane partition: Int32, below offset: Int64) {
        entries[partition]?.lane.noteCommit(below: offset)
    }

    // MARK: Failures

    func waitForDiskSpace(after error: StoreError) {
        log.error("no room for the registry of this process; its work waits", .field("error", error))
        diskFull = DiskFullState(
            retryAt: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds), reason: error.description
        )
    }

    func retryFullDisk(at now: Instant) {
        if let blocked = diskFull, now >= blocked.retryAt { diskFull = nil }
    }

    /// Discards a damaged file, so that it is rebuilt. The loop starts over.
    func repair(lane partition: Int32, after error: StoreError) throws {
        if error.isTransient { return waitForDiskSpace(after: error) }
        guard error.isCorruption else { throw error }
        log.warning(
            "the registry's file is damaged, it is built anew from its topic", .field("lane", partition),
            .field("error", error))
        if let entry = entries.removeValue(forKey: partition) {
            try entry.lane.markForRebuild(because: error.description)
        }
    }

    private func close(_ entry: Entry) {
        do throws(StoreError) {
            try entry.lane.close()
        } catch {
            log.warning(
                "the registry's file was not closed cleanly; it is checked more closely at the next start",
                .field("error", error))
        }
    }

    func closeAll() {
        batch.clear()
        reader.close()
        for entry in entries.values { close(entry) }
        entries.removeAll()
    }
}
