package import Lifecycle
package import Store
package import Telemetry

package import struct Kafka.TopicPartition

/// The tokens of one lane and their recipients: one partition of `registry` as tables, with the offset up to
/// which they are complete. The tables depend only on the newest row of each key in the topic. The order and
/// repetition of records do not matter. So answers are equal after a restart, a rebuild or a replay.
///
/// A lane must never serve a half-built table. Rows and offset change in one transaction, and an unfinished
/// restore is emptied at the next opening. One thread owns a lane.
package final class Lane {
    /// The version of the layout of keys and values. If it changes, every lane is rebuilt from the topic.
    package static let schema = 6
    /// The limit of changes in memory. At the limit they must be committed.
    package static let pendingBytesMax = 16 << 20

    /// The state in which the file was found. Every state except `.resumed` needs a restore.
    package let openingState: OpeningState
    let file: StateFile
    let directory: String
    let partition: TopicPartition
    let tables: LaneTables
    var names: NameTable
    private var decoder = ChangeDecoder()
    private var pendingChanges = RowBatch()
    /// The byte in the pending changes from which on changes are news.
    private var pendingChangesStart: Int?
    /// The keys of records that are read again and still count as news.
    private var repeatedChanges = RowBatch()
    private let log: Log
    private let metrics: LaneMetrics
    private var identity: TopicIdentityCheck
    /// The next offset that the tables lack. Nil before the first record. It never decreases.
    package internal(set) var appliedOffset: Int64?
    /// The committed offset of the consumer group when the lane was taken over. Rows from this offset on are
    /// news even if the tables contain them, because the process that wrote them may have died before it
    /// acted on them. Nil if the caller needs no news.
    package var changesReportedFrom: Int64?

    /// - Parameters:
    ///   - directory: The lane's directory, inside the process's slot.
    ///   - origin: The cluster of the topic, as the caller names it.
    ///   - ageMaxMilliseconds: The topic's `delete.retention.ms`.
    package init(
        directory: String, partition: TopicPartition, origin: String, ageMaxMilliseconds: Int64,
        limits: EnvironmentLimits = EnvironmentLimits(), now: WallTime, boot: BootID, log: Log,
        metrics: LaneMetrics
    ) throws(StoreError) {
        let terms = ReuseConditions(
            schema: Self.schema, origin: "\(origin)/\(partition.topic)/\(partition.partition)",
            ageMaxMilliseconds: ageMaxMilliseconds)
        file = try StateFile(
            directory: directory, conditions: terms, tables: LaneTables.names, limits: limits, now: now,
            boot: boot)
        self.directory = directory
        self.partition = partition
        self.log = log
        self.metrics = metrics
        openingState = file.openingState
        tables = LaneTables(file)
        names = NameTable(tables.names)
        let found = try file.read { picture throws(StoreError) in
            try picture.applied(partition.topic, partition.partition)
        }
        appliedOffset = found?.offset
        identity = TopicIdentityCheck(progress: found)
        if appliedOffset == nil { try emptyTables() }
        logOpening()
    }

    /// The offset to read from. It is the last applied record, which identifies the topic, or the start of
    /// the news.
    package var resumeOffset: Int64? {
        guard let start = identity.startOffset ?? appliedOffset else { return nil }
        return min(start, changesReportedFrom ?? start)
    }

    /// Forgets the records that were taken and not committed, because they are read again from `start`. The
    /// file stays open.
    package func restart(changesReportedFrom: Int64) throws(StoreError) {
        let found = try file.read { picture throws(StoreError) in
            try picture.applied(partition.topic, partition.partition)
        }
        appliedOffset = found?.offset
        identity = TopicIdentityCheck(progress: found)
        pendingChanges.removeAll()
        repeatedChanges.removeAll()
        pendingChangesStart = nil
        self.changesReportedFrom = changesReportedFrom
    }

    /// Whether the pending changes reached their limit.
    package var isFull: Bool { pendingChanges.byteCount + repeatedChanges.byteCount >= Self.pendingBytesMax }

    /// Takes the next record of the topic. It counts from the next commit on. A record that was applied
    /// before may come again and changes nothing.
    package func apply(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        let isNews = changesReportedFrom.map { offset >= $0 } ?? false
        if let appliedOffset, offset < appliedOffset {
            identity.check(key: key, value: value, offset: offset)
            if isNews, let key {
                try decoder.append(changedKey: key, to: &repeatedChanges, names: &names, in: file)
            }
            return
        }
        if isNews, pendingChangesStart == nil { pendingChangesStart = pendingChanges.byteCount }
        try decode(key: key, value: value, offset: offset, into: &pendingChanges)
    }

    /// Writes the taken records and the offset behind them in one transaction. If it throws, nothing is
    /// written and nothing is lost. Call it again when the disk has space. It throws corruption if the tables
    /// were built from a different topic.
    package func commit(_ now: AppliedProgress) throws(StoreError) {
        try commit(now) { _, _ in }
    }

    /// Commits like `commit(_:)` and reports the news of the commit. If the process dies before it acts on
    /// the news, they are reported again, because the committed offset is still lower.
    package func commit(_ now: AppliedProgress, reportingChangesInto news: inout LaneChanges)
        throws(StoreError)
    {
        let (tables, names) = (tables, names)
        try commit(now) { changed, picture throws(StoreError) in
            // The transaction may run this twice.
            news.removeAll()
            var teller = LaneChangeDetector(tables: tables, names: names)
            for row in changed { try teller.report(row, to: &news, snapshot: picture) }
            for index in 0..<repeatedChanges.count where repeatedChanges.isLastForKey(at: index) {
                guard let row = ChangedRow(changeKey: repeatedChanges.key(at: index)) else { continue }
                try teller.report(row, to: &news, snapshot: picture)
            }
        }
    }

    private func commit(
        _ now: AppliedProgress,
        reporting tell: ([ChangedRow], borrowing ReadSnapshot) throws(StoreError) -> Void
    ) throws(StoreError) {
        let now = try addTopicIdentity(to: now)
        pendingChanges.sort()
        repeatedChanges.sort()
        if now.offset >= appliedOffset ?? 0 {
            try write(pendingChanges, applied: now, reporting: tell)
            metrics.countApplied(pendingChanges.count)
            pendingChanges.removeAll()
            pendingChangesStart = nil
            appliedOffset = now.offset
        } else {
            try file.read { picture throws(StoreError) in try tell([], picture) }
        }
        repeatedChanges.removeAll()
    }

    /// Adds the record that identifies the topic.
    func addTopicIdentity(to now: AppliedProgress) throws(StoreError) -> AppliedProgress {
        identity.recordRead(upTo: now.offset)
        return AppliedProgress(
            offset: now.offset, completeUntil: now.completeUntil,
            lastRecord: try identity.confirmedRecord(path: file.environment.path))
    }

    private func write(
        _ changes: borrowing RowBatch, applied now: AppliedProgress,
        reporting tell: ([ChangedRow], borrowing ReadSnapshot) throws(StoreError) -> Void
    ) throws(StoreError) {
        let (partition, tables, topicKeys) = (partition, tables, TopicKeyBuilder(names: names))
        let newsStart = pendingChangesStart
        try file.write { transaction throws(StoreError) in
            var writer = RowWriter(tables: tables, topicKeys: topicKeys)
            for index in 0..<changes.count where changes.isLastForKey(at: index) {
                let isNews = newsStart.map { changes.offset(at: index) >= $0 } ?? false
                try writer.apply(
                    changes.key(at: index), value: changes.value(at: index), reportsChanges: isNews,
                    in: &transaction)
            }
            try writer.resolveConflicts(reportsChanges: newsStart != nil, in: &transaction)
            try transaction.setApplied(now, of: partition.topic, partition.partition)
            try tell(writer.changedRows, transaction.snapshot)
        }
    }

    /// Returns the number of rows in the tables, including expired rows.
    package func rowCounts() throws(StoreError) -> LaneRowCounts {
        try file.read { picture throws(StoreError) in
            LaneRowCounts(
                starts: try picture.count(of: tables.starts), updates: try picture.count(of: tables.updates),
                profiles: try picture.count(of: tables.profiles))
        }
    }

    package var statistics: EnvironmentSizes { file.environment.sizes }

    package func close() throws(StoreError) { try file.close() }

    /// Closes the lane. The next opening rebuilds it and reports this reason.
    package func markForRebuild(because reason: String) throws(StoreError) {
        try file.markUnusable(because: reason)
    }

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

extension RowBatch {
    /// Whether no later change in a sorted batch has the same key.
    func isLastForKey(at index: Int) -> Bool {
        index + 1 == count || !key(at: index).equals(key(at: index + 1))
    }
}
