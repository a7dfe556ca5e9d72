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
    package let beginning: Beginning
    let file: StateFile
    let directory: String
    let partition: TopicPartition
    let tables: LaneTables
    var names: Names
    private var decoder = ChangeDecoder()
    private var pending = RowBatch()
    /// The byte in the pending changes from which on changes are news.
    private var pendingNewsStart: Int?
    /// The keys of records that are read again and still count as news.
    private var repeated = RowBatch()
    private let log: Log
    private let metrics: LaneMetrics
    private var identity: TopicIdentity
    /// The next offset that the tables lack. Nil before the first record. It never decreases.
    package internal(set) var applied: Int64?
    /// The committed offset of the consumer group when the lane was taken over. Rows from this offset on are
    /// news even if the tables contain them, because the process that wrote them may have died before it
    /// acted on them. Nil if the caller needs no news.
    package var newsBegins: Int64?

    /// - Parameters:
    ///   - directory: The lane's directory, inside the process's slot.
    ///   - origin: The cluster of the topic, as the caller names it.
    ///   - ageMaxMilliseconds: The topic's `delete.retention.ms`.
    package init(
        _ directory: String, _ partition: TopicPartition, origin: String, ageMaxMilliseconds: Int64,
        limits: Limits = Limits(), now: WallTime, boot: BootID, log: Log, metrics: LaneMetrics
    ) throws(StoreError) {
        let terms = Terms(
            schema: Self.schema, origin: "\(origin)/\(partition.topic)/\(partition.partition)",
            ageMaxMilliseconds: ageMaxMilliseconds)
        file = try StateFile(
            directory, terms, tables: LaneTables.names, limits: limits, now: now, boot: boot)
        self.directory = directory
        self.partition = partition
        self.log = log
        self.metrics = metrics
        beginning = file.beginning
        tables = LaneTables(file)
        names = Names(tables.names)
        let found = try file.read { picture throws(StoreError) in
            try picture.applied(partition.topic, partition.partition)
        }
        applied = found?.offset
        identity = TopicIdentity(found)
        if applied == nil { try empty() }
        announce()
    }

    /// The offset to read from. It is the last applied record, which identifies the topic, or the start of
    /// the news.
    package var start: Int64? {
        guard let start = identity.start ?? applied else { return nil }
        return min(start, newsBegins ?? start)
    }

    /// Forgets the records that were taken and not committed, because they are read again from `start`. The
    /// file stays open.
    package func beginAgain(newsBegins: Int64) throws(StoreError) {
        let found = try file.read { picture throws(StoreError) in
            try picture.applied(partition.topic, partition.partition)
        }
        applied = found?.offset
        identity = TopicIdentity(found)
        pending.removeAll()
        repeated.removeAll()
        pendingNewsStart = nil
        self.newsBegins = newsBegins
    }

    /// Whether the pending changes reached their limit.
    package var isFull: Bool { pending.byteCount + repeated.byteCount >= Self.pendingBytesMax }

    /// Takes the next record of the topic. It counts from the next commit on. A record that was applied
    /// before may come again and changes nothing.
    package func hear(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        let isNews = newsBegins.map { offset >= $0 } ?? false
        if let applied, offset < applied {
            identity.hear(key, value, offset: offset)
            if isNews, let key { try decoder.append(changedKey: key, to: &repeated, names: &names, in: file) }
            return
        }
        if isNews, pendingNewsStart == nil { pendingNewsStart = pending.byteCount }
        try decode(key: key, value: value, offset: offset, into: &pending)
    }

    /// Writes the taken records and the offset behind them in one transaction. If it throws, nothing is
    /// written and nothing is lost. Call it again when the disk has space. It throws corruption if the tables
    /// were built from a different topic.
    package func commit(_ now: Applied) throws(StoreError) {
        try commit(now) { _, _ in }
    }

    /// Commits like `commit(_:)` and reports the news of the commit. If the process dies before it acts on
    /// the news, they are reported again, because the committed offset is still lower.
    package func commit(_ now: Applied, tellingInto news: inout LaneNews) throws(StoreError) {
        let (tables, names) = (tables, names)
        try commit(now) { changed, picture throws(StoreError) in
            // The transaction may run this twice.
            news.removeAll()
            var teller = NewsTeller(tables, names)
            for row in changed { try teller.tell(row, to: &news, picture) }
            for index in 0..<repeated.count where repeated.isLast(index) {
                guard let row = ChangedRow(unknown: repeated.key(index)) else { continue }
                try teller.tell(row, to: &news, picture)
            }
        }
    }

    private func commit(
        _ now: Applied, telling tell: ([ChangedRow], borrowing Picture) throws(StoreError) -> Void
    ) throws(StoreError) {
        let now = try identified(now)
        pending.sort()
        repeated.sort()
        if now.offset >= applied ?? 0 {
            try write(pending, now, telling: tell)
            metrics.applied(pending.count)
            pending.removeAll()
            pendingNewsStart = nil
            applied = now.offset
        } else {
            try file.read { picture throws(StoreError) in try tell([], picture) }
        }
        repeated.removeAll()
    }

    /// Adds the record that identifies the topic.
    func identified(_ now: Applied) throws(StoreError) -> Applied {
        identity.reached(now.offset)
        return Applied(
            offset: now.offset, asOf: now.asOf, last: try identity.confirmed(file.environment.path))
    }

    private func write(
        _ changes: borrowing RowBatch, _ now: Applied,
        telling tell: ([ChangedRow], borrowing Picture) throws(StoreError) -> Void
    ) throws(StoreError) {
        let (partition, tables, topicKeys) = (partition, tables, TopicKeys(names))
        let newsStart = pendingNewsStart
        try file.write { transaction throws(StoreError) in
            var writer = RowWriter(tables, topicKeys)
            for index in 0..<changes.count where changes.isLast(index) {
                let isNews = newsStart.map { changes.start(index) >= $0 } ?? false
                try writer.apply(
                    changes.key(index), value: changes.value(index), isNews: isNews, in: &transaction)
            }
            try writer.settle(isNews: newsStart != nil, &transaction)
            try transaction.setApplied(now, of: partition.topic, partition.partition)
            try tell(writer.changed, transaction.picture)
        }
    }

    /// Returns the number of rows in the tables, including expired rows.
    package func counts() throws(StoreError) -> LaneCounts {
        try file.read { picture throws(StoreError) in
            LaneCounts(
                starts: try picture.count(of: tables.starts), updates: try picture.count(of: tables.updates),
                profiles: try picture.count(of: tables.profiles))
        }
    }

    package var statistics: Statistics { file.environment.statistics }

    package func close() throws(StoreError) { try file.close() }

    /// Closes the lane. The next opening rebuilds it and reports this reason.
    package func condemn(_ reason: String) throws(StoreError) { try file.condemn(reason) }

    func decode(
        key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64, into batch: inout RowBatch
    ) throws(StoreError) {
        identity.hear(key, value, offset: offset)
        let problem = try decoder.append(key: key, value: value, to: &batch, names: &names, in: file)
        guard let problem else { return }
        metrics.refused()
        log.warning(
            "a record of the registry cannot be read and is skipped",
            .field("partition", partition.partition),
            .field("offset", offset), .field("reason", problem))
    }

    private func empty() throws(StoreError) {
        try file.write { transaction throws(StoreError) in
            for table in tables.all { try transaction.empty(table) }
        }
    }

    private func announce() {
        let lane = LogField.field("partition", partition.partition)
        switch beginning {
        case .discarded(let reason):
            log.warning("the registry's state is rebuilt from the topic", lane, .field("reason", "\(reason)"))
        case .resumed where applied == nil:
            log.warning(
                "the registry's state is rebuilt from the topic", lane,
                .field("reason", "the last process did not finish restoring it"))
        case .resumed, .empty: break
        }
    }
}

extension RowBatch {
    /// Whether no later change in a sorted batch has the same key.
    func isLast(_ index: Int) -> Bool { index + 1 == count || !key(index).equals(key(index + 1)) }
}
