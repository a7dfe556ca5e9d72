package import Store
package import Telemetry

/// Which tokens reach whom, right now, in one lane: the partition of `registry` as tables, with the
/// offset that they stand for. It is a function of the rows that the topic holds under its keys, however
/// often and in whatever order their records came: what it answers after a restart, a rebuild or a
/// replay is what it answered before.
///
/// It must never serve a half-built table: rows and offset change in one transaction, and what a
/// restore has not finished is emptied at the next opening. Owned by one thread; other threads may read
/// `facts`, nothing else.
package final class Lane {
    /// The layout of keys and values. Another number, and every lane is rebuilt from the topic.
    package static let schema = 6
    /// Changes held in memory before they must be committed.
    package static let pendingBytesMax = 16 << 20

    /// How the file began; anything but `.resumed` needs a restore.
    package let beginning: Beginning
    let file: StateFile
    let directory: String
    let partition: TopicPartition
    let tables: LaneTables
    var names: Names
    private var decoder = ChangeDecoder()
    private var pending = RowBatch()
    /// From which byte of the pending changes on they are news.
    private var pendingNewsStart: Int?
    /// Keys of records that are read again and are news all the same.
    private var repeated = RowBatch()
    private let log: Log
    private let metrics: LaneMetrics
    private var identity: TopicIdentity
    /// The next offset whose record the tables lack; nil as long as nothing is known. It never goes back.
    package internal(set) var applied: Int64?
    /// The consumer group's committed offset, where the lane was taken over: rows from here on are news,
    /// whatever the tables already hold, because the process that put them there may have died before it
    /// did what they ask for. Nil: nobody wants news.
    package var newsBegins: Int64?

    /// - Parameters:
    ///   - directory: the lane's own, under the process's slot.
    ///   - origin: which cluster's topic this is, in the caller's words.
    ///   - ageMaxMilliseconds: the topic's `delete.retention.ms`.
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
        let found = try file.read { picture throws(StoreError) in try picture.applied(partition) }
        applied = found?.offset
        identity = TopicIdentity(found)
        if applied == nil { try empty() }
        announce()
    }

    /// Where to read on: at the last record that was applied, by which the lane knows its topic again, or
    /// where news begin.
    package var start: Int64? {
        guard let start = identity.start ?? applied else { return nil }
        return min(start, newsBegins ?? start)
    }

    /// Forgets what was taken and not committed, because it is read again from `start`. The file stays open.
    package func beginAgain(newsBegins: Int64) throws(StoreError) {
        let found = try file.read { picture throws(StoreError) in try picture.applied(partition) }
        applied = found?.offset
        identity = TopicIdentity(found)
        pending.removeAll()
        repeated.removeAll()
        pendingNewsStart = nil
        self.newsBegins = newsBegins
    }

    /// What the next commit would write is as much as it should.
    package var isFull: Bool { pending.byteCount + repeated.byteCount >= Self.pendingBytesMax }

    /// Takes one record of the topic, in the topic's order; it counts from the next commit on. What was
    /// applied before may come again, and changes nothing.
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

    /// Writes what was taken, and the offset behind it, in one transaction. When it throws, nothing is
    /// written and nothing forgotten: call it again when there is room. It throws corruption when the
    /// topic is not the one that the tables were built from.
    package func commit(_ now: Applied) throws(StoreError) {
        try commit(now) { _, _ in }
    }

    /// The same, and tells what became new by it. When the process dies before it has done what that asks
    /// for, it is told again, since the committed offset is still below it.
    package func commit(_ now: Applied, tellingInto news: inout LaneNews) throws(StoreError) {
        let (tables, names) = (tables, names)
        try commit(now) { changed, picture throws(StoreError) in
            // This may run twice.
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

    /// With the record by which the topic is known again.
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
            try transaction.setApplied(now, of: partition)
            try tell(writer.changed, transaction.picture)
        }
    }

    /// Rows in the tables, expired ones included.
    package func counts() throws(StoreError) -> LaneCounts {
        try file.read { picture throws(StoreError) in
            LaneCounts(
                starts: try picture.count(of: tables.starts), updates: try picture.count(of: tables.updates),
                profiles: try picture.count(of: tables.profiles))
        }
    }

    package var statistics: Statistics { file.environment.statistics }

    package func close() throws(StoreError) { try file.close() }

    /// Closes it for good; the next opening rebuilds it and gives this reason.
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
    /// Whether no later change in a sorted batch is of the same key.
    func isLast(_ index: Int) -> Bool { index + 1 == count || !key(index).equals(key(index + 1)) }
}
