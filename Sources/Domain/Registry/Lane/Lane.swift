package import Lifecycle
package import Store
package import Telemetry

package import struct Kafka.TopicPartition

/// The local copy of one partition of the topic `registry`: the push tokens of a lane's recipients in tables
/// of one file, and the offset up to which the tables are complete. The tables depend only on the newest
/// record of each key. The order and repetition of records do not matter. So answers are equal after a
/// restart, a rebuild or a replay.
///
/// The caller passes each record of the partition to `apply` and calls `commit` after a batch. An empty lane
/// is filled faster by `LaneRestore`.
///
/// A lane must never serve a half-built table. Rows and offset change in one transaction, and the next
/// opening empties the tables of an unfinished restore. One thread owns a lane.
package final class Lane {
    /// The version of the layout of keys and values. If it changes, every lane is rebuilt from the topic.
    package static let schema = 10
    /// The limit of uncommitted changes in memory. At the limit the caller must commit.
    package static let pendingBytesMax = 16 << 20

    /// The state in which the file was found. A lane needs a restore if `appliedOffset` is nil.
    package let openingState: OpeningState
    let file: StateFile
    let directory: String
    let partition: TopicPartition
    let tables: LaneTables
    var names: NameTable
    private let log: Log
    private let metrics: LaneMetrics
    private var decoder = ChangeDecoder()
    private var identity: TopicIdentityCheck

    /// The first offset that is not in the tables. Nil before the first commit. It never decreases.
    package internal(set) var appliedOffset: Int64?
    /// The committed offset of the consumer group when this process took over the lane. A commit reports the
    /// changes of records from this offset on, even if the tables already contain them: the process that
    /// wrote them may have died before it acted on them. Nil if the caller needs no reports.
    package var changesReportedFrom: Int64?

    // Uncommitted records.

    /// The changes of records that are not in the tables.
    private var pendingChanges = RowBatch()
    /// The byte offset in `pendingChanges` of the first change to report. A row keeps its offset when the
    /// batch is sorted. Nil if there is no such change.
    private var firstReportedByte: Int?
    /// The keys, without values, of records that the tables contain and whose changes may have to be reported again.
    private var repeatedChanges = RowBatch()
    /// The keys of the changes that were reported behind `changesReportedFrom` and must be reported again, as the table
    /// `reported` has them. Nil until they are needed, and after each commit that writes the table.
    private var keysToRepeat: Set<[UInt8]>?
    /// The offset below which the consumer group has committed everything.
    private var committedOffset: Int64 = 0

    /// - Parameters:
    ///   - directory: The lane's directory, inside the process's slot.
    ///   - origin: The cluster of the topic, as the caller names it.
    ///   - ageMaxMilliseconds: The topic's `delete.retention.ms`.
    package init(
        directory: String, partition: TopicPartition, origin: String, ageMaxMilliseconds: Int64,
        limits: EnvironmentLimits = EnvironmentLimits(), now: WallTime, boot: BootID, log: Log,
        metrics: LaneMetrics
    ) throws(StoreError) {
        let conditions = ReuseConditions(
            schema: Self.schema, origin: "\(origin)/\(partition.topic)/\(partition.partition)",
            ageMaxMilliseconds: ageMaxMilliseconds)
        file = try StateFile(
            directory: directory, conditions: conditions, tables: LaneTables.names, limits: limits, now: now,
            boot: boot)
        self.directory = directory
        self.partition = partition
        self.log = log
        self.metrics = metrics
        openingState = file.openingState
        tables = LaneTables(file)
        names = NameTable(tables.names)
        let progress = try file.read { snapshot throws(StoreError) in
            try snapshot.appliedProgress(ofTopic: partition.topic, partition: partition.partition)
        }
        appliedOffset = progress?.offset
        identity = TopicIdentityCheck(progress: progress)
        if appliedOffset == nil { try emptyTables() }
        logOpening()
    }

    /// The offset at which the caller must start to read: the last applied record, which identifies the
    /// topic, or `changesReportedFrom` if that is lower. Nil for an empty lane.
    package var resumeOffset: Int64? {
        guard let start = identity.startOffset ?? appliedOffset else { return nil }
        return min(start, changesReportedFrom ?? start)
    }

    /// Drops the uncommitted records, because the caller reads again from `resumeOffset`. The file stays
    /// open.
    package func restart(changesReportedFrom: Int64) throws(StoreError) {
        let progress = try file.read { snapshot throws(StoreError) in
            try snapshot.appliedProgress(ofTopic: partition.topic, partition: partition.partition)
        }
        appliedOffset = progress?.offset
        identity = TopicIdentityCheck(progress: progress)
        pendingChanges.removeAll()
        repeatedChanges.removeAll()
        keysToRepeat = nil
        firstReportedByte = nil
        self.changesReportedFrom = changesReportedFrom
    }

    /// Notes that the consumer group has committed everything below an offset. The changes that `commit` has reported up
    /// to there are done.
    package func noteCommit(below offset: Int64) { committedOffset = max(committedOffset, offset) }

    /// The size of the uncommitted changes.
    package var pendingByteCount: Int { pendingChanges.byteCount + repeatedChanges.byteCount }

    /// Whether the uncommitted changes reached their limit.
    package var isFull: Bool { pendingByteCount >= Self.pendingBytesMax }

    /// Takes the next record of the topic. The next commit writes it. A record that the tables already
    /// contain may come again and changes nothing.
    package func apply(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        let isReported = changesReportedFrom.map { offset >= $0 } ?? false
        if let appliedOffset, offset < appliedOffset {
            identity.check(key: key, value: value, offset: offset)
            if isReported, let key {
                try decoder.append(changedKey: key, to: &repeatedChanges, names: &names, in: file)
            }
            return
        }
        if isReported, firstReportedByte == nil { firstReportedByte = pendingChanges.byteCount }
        try decode(key: key, value: value, offset: offset, into: &pendingChanges)
    }

    /// Writes the taken records and the offset behind them in one transaction. If it throws, nothing is
    /// written and nothing is lost. Call it again when the disk has space. It throws corruption if the tables
    /// were built from a different topic.
    package func commit(_ progress: AppliedProgress) throws(StoreError) {
        try commit(progress) { _, _ in [] }
    }

    /// Commits like `commit(_:)` and writes the changed rows to `changes`. If the process dies before it acts
    /// on them, the next owner of the lane gets them again, because the group's committed offset is still
    /// lower.
    package func commit(_ progress: AppliedProgress, reportingChangesInto changes: inout LaneChanges)
        throws(StoreError)
    {
        let (tables, names) = (tables, names)
        try commit(progress) { changedRows, snapshot throws(StoreError) in
            // The body of a transaction runs again if the file must grow.
            changes.removeAll()
            var detector = LaneChangeDetector(tables: tables, names: names)
            var reportedRows: [ChangedRow] = []
            for row in changedRows {
                let isReported = try detector.report(row, to: &changes, snapshot: snapshot)
                if isReported { reportedRows.append(row) }
            }
            for row in try rowsToRepeat(in: snapshot, except: Set(reportedRows.map(\.changeKey))) {
                _ = try detector.report(row, to: &changes, snapshot: snapshot)
            }
            return reportedRows
        }
    }

    /// Returns the rows of records that were read again and whose changes must be reported again.
    ///
    /// - Parameter reported: The keys of changes that this commit reports anyway.
    private func rowsToRepeat(
        in snapshot: borrowing ReadSnapshot, except reported: Set<[UInt8]>
    ) throws(StoreError) -> [ChangedRow] {
        guard !repeatedChanges.isEmpty, let changesReportedFrom else { return [] }
        let keys: Set<[UInt8]>
        if let keysToRepeat {
            keys = keysToRepeat
        } else {
            keys = try ReportedChanges(in: tables).keys(behind: changesReportedFrom, in: snapshot)
            keysToRepeat = keys
        }
        var rows: [ChangedRow] = []
        for index in 0..<repeatedChanges.count where repeatedChanges.isLastForKey(at: index) {
            let key = Array(repeatedChanges.key(at: index))
            guard keys.contains(key), !reported.contains(key) else { continue }
            if let row = ChangedRow(changeKey: key.span) { rows.append(row) }
        }
        return rows
    }

    private func commit(
        _ progress: AppliedProgress,
        reporting report: ([ChangedRow], borrowing ReadSnapshot) throws(StoreError) -> [ChangedRow]
    ) throws(StoreError) {
        let progress = try addTopicIdentity(to: progress)
        pendingChanges.sort()
        repeatedChanges.sort()
        if progress.offset >= appliedOffset ?? 0 {
            try write(pendingChanges, applied: progress, reporting: report)
            metrics.countApplied(pendingChanges.count)
            pendingChanges.removeAll()
            (firstReportedByte, keysToRepeat) = (nil, nil)
            appliedOffset = progress.offset
        } else {
            // The caller still reads records that the tables contain, so only repeated changes can exist.
            try file.read { snapshot throws(StoreError) in _ = try report([], snapshot) }
        }
        repeatedChanges.removeAll()
    }

    /// Adds the record that identifies the topic.
    func addTopicIdentity(to progress: AppliedProgress) throws(StoreError) -> AppliedProgress {
        identity.recordRead(upTo: progress.offset)
        return AppliedProgress(
            offset: progress.offset, completeUntil: progress.completeUntil,
            lastRecord: try identity.confirmedRecord(path: file.environment.path))
    }

    /// Writes the last change of each key, the reported changes and the progress in one transaction.
    ///
    /// - Parameter report: Reports the changed rows that matter, and returns them.
    private func write(
        _ changes: borrowing RowBatch, applied progress: AppliedProgress,
        reporting report: ([ChangedRow], borrowing ReadSnapshot) throws(StoreError) -> [ChangedRow]
    ) throws(StoreError) {
        let (partition, tables, topicKeys) = (partition, tables, TopicKeyBuilder(names: names))
        let (firstReportedByte, committedOffset) = (firstReportedByte, committedOffset)
        let reportedChanges = ReportedChanges(in: tables)
        try file.write { transaction throws(StoreError) in
            var writer = RowWriter(tables: tables, topicKeys: topicKeys)
            let reportedFrom = firstReportedByte ?? .max
            for index in 0..<changes.count {
                let isReported = changes.offset(at: index) >= reportedFrom
                let isLastForKey = changes.isLastForKey(at: index)
                // A reported change is compared with the row as the records below `changesReportedFrom` left it,
                // because another process has acted on those. So the last of their changes is written, too.
                let isLastBeforeReported =
                    !isLastForKey && !isReported && changes.offset(at: index + 1) >= reportedFrom
                guard isLastForKey || isLastBeforeReported else { continue }
                try writer.apply(
                    changes.key(at: index), value: changes.value(at: index), reportsChanges: isReported,
                    in: &transaction)
            }
            try writer.finish(reportsChanges: firstReportedByte != nil, in: &transaction)
            try transaction.setAppliedProgress(
                progress, ofTopic: partition.topic, partition: partition.partition)
            let reportedRows = try report(writer.changedRows, transaction.snapshot)
            try reportedChanges.add(reportedRows, at: progress.offset, in: &transaction)
            try reportedChanges.remove(upTo: committedOffset, in: &transaction)
        }
    }

    /// Returns the number of rows in the tables, including expired rows.
    package func rowCounts() throws(StoreError) -> LaneRowCounts {
        try file.read { snapshot throws(StoreError) in
            LaneRowCounts(
                starts: try snapshot.count(of: tables.starts),
                updates: try snapshot.count(of: tables.updates),
                profiles: try snapshot.count(of: tables.profiles))
        }
    }

    package var sizes: EnvironmentSizes { file.environment.sizes }

    package func close() throws(StoreError) { try file.close() }

    /// Closes the lane. The next opening rebuilds it and reports this reason.
    package func markForRebuild(because reason: String) throws(StoreError) {
        try file.markUnusable(because: reason)
    }

    /// Appends the change of a record. A record that cannot be read is logged and counted.
    func decode(
        key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64, into batch: inout RowBatch
    ) throws(StoreError) {
        identity.check(key: key, value: value, offset: offset)
        let problem = try decoder.append(key: key, value: value, to: &batch, names: &names, in: file)
        guard let problem else { return }
        metrics.countRefused()
        log.warning(
            "a record of the registry cannot be read and is skipped",
            .field("partition", partition.partition),
            .field("offset", offset), .field("reason", problem))
    }

    private func emptyTables() throws(StoreError) {
        try file.write { transaction throws(StoreError) in
            for table in tables.all { try transaction.removeAll(in: table) }
        }
    }

    private func logOpening() {
        let lane = LogField.field("partition", partition.partition)
        switch openingState {
        case .discarded(let reason):
            log.warning("the registry's state is rebuilt from the topic", lane, .field("reason", "\(reason)"))
        case .resumed where appliedOffset == nil:
            log.warning(
                "the registry's state is rebuilt from the topic", lane,
                .field("reason", "the last process did not finish restoring it"))
        case .resumed, .empty: break
        }
    }
}
