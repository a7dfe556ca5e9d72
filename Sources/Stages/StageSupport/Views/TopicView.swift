package import Kafka
package import Lifecycle
package import Store
package import Telemetry

/// A copy of one partition of a compacted topic in a file on the local disk. It is a cache, filled from the topic's
/// records. Only rows that the loop puts into it directly are newer than the topic. Pinned to the loop's thread.
///
/// Rows are buffered in memory. `writePendingRows` writes them to the file together with the offset of the next record.
/// The rows of an empty file are sorted first, on disk if memory is too small, and written in order at the topic's end.
/// Until then the file has no offset. If the process dies in between, the next opening empties the file.
package final class TopicView {
    /// A margin for differences of clocks. A file must not be as old as the topic's retention of tombstones, because it
    /// could then miss one.
    private static let ageMarginMilliseconds: Int64 = 3_600_000
    /// The most memory that an empty batch keeps, in bytes. There is one view for each partition.
    private static let keptBatchBytesMax = 1 << 20

    /// The memory for sorting the rows of an empty file, if there is no other view.
    package static let restoreBytesDefault = 8 << 20
    /// The number of rows in one transaction of a restore. A file keeps the memory of its largest transaction.
    private static let restoreTransactionRowsMax = 5000

    package let topicPartition: TopicPartition
    private let file: StateFile
    private let table: Table
    private let derive: TopicViewDefinition.Derivation?
    /// Nil if the file has the order of the topic's keys.
    private let order: (any RowOrder.Type)?
    /// The memory for the key that is being converted between the topic's order and the file's order.
    private var scratch: [UInt8] = []
    /// The offset of the next record that the file needs.
    package private(set) var appliedOffset: Int64
    /// Rows that were read from the topic and are not in the file yet.
    private var rows = RowBatch()
    /// The derived rows of `rows`.
    private var derivedRows = RowBatch()
    /// The memory for the next derived row.
    private var derivedRow = DerivedRow()
    /// Rows that the loop puts into the file directly. They are written before the rows from the topic.
    private var overrides = RowBatch()
    /// The progress in the topic, with the records that are not in the file yet.
    private var receivedProgress: AppliedProgress
    /// The rows of an empty file, until the topic has been read to its end. Nil after that.
    private var restore: RowSorter?
    /// Whether the restore has all rows up to the topic's end.
    private var canFinishRestore = false

    // Facts about the file, until it changes.

    /// A range of keys in which the file has no row.
    private var emptyRange: KeyGap?
    /// The number of rows. Nil if it must be counted.
    private var cachedCount: Int?

    /// Recognizes a topic that was created again: its records differ from those in the file.
    private var identityCheck: TopicIdentityCheck

    /// - Parameters:
    ///   - cluster: the cluster's id. A file of another cluster is discarded.
    ///   - restoreBytesMax: the memory for sorting the rows of an empty file.
    package init(
        definition: TopicViewDefinition, partition: Int32, directory: String, cluster: String,
        deleteRetentionMilliseconds: Int64, limits: EnvironmentLimits, now: WallTime, boot: BootID,
        restoreBytesMax: Int = restoreBytesDefault
    ) throws(StoreError) {
        let topicPartition = TopicPartition(definition.topic, partition)
        let conditions = ReuseConditions(
            schema: definition.schema, origin: "\(cluster) \(topicPartition)",
            ageMaxMilliseconds: deleteRetentionMilliseconds - Self.ageMarginMilliseconds)
        let file = try StateFile(
            directory: directory, conditions: conditions, tables: [definition.table], limits: limits,
            now: now,
            boot: boot)
        let storedProgress = try file.read { snapshot throws(StoreError) in
            try snapshot.appliedProgress(
                ofTopic: topicPartition.topic, partition: topicPartition.partition)
        }
        self.topicPartition = topicPartition
        self.file = file
        table = file.table(named: definition.table)
        derive = definition.derive
        order = definition.rowOrder
        receivedProgress = storedProgress ?? AppliedProgress(offset: 0, completeUntil: now)
        identityCheck = TopicIdentityCheck(progress: storedProgress)
        appliedOffset = receivedProgress.offset
        guard storedProgress == nil else { return }
        let table = table
        try file.write { transaction throws(StoreError) in try transaction.removeAll(in: table) }
        restore = RowSorter(
            in: directory, runBytesMax: restoreBytesMax, retryPolicy: DiskFullRetryPolicy())
    }

    /// Whether the rows are being sorted, and the file is still empty.
    package var isRestoring: Bool { restore != nil }
    /// The state of the file when it was opened.
    package var openingState: OpeningState { file.openingState }
    /// The position from which the view reads its topic. It begins with the last applied record, which identifies the
    /// topic.
    package var startPosition: PartitionStart {
        PartitionStart(
            partition: topicPartition,
            position: appliedOffset > 0 ? .offset(identityCheck.startOffset ?? appliedOffset) : .beginning)
    }
    /// The number of rows that are not in the file yet, for example because the disk is full.
    package var pendingRowCount: Int { rows.count + derivedRows.count + overrides.count }

    // MARK: Changes

    /// Buffers a record of the topic. It throws only while the file is restored. The record is then not taken.
    package func buffer(_ record: borrowing Kafka.Record) throws(StoreError) {
        try buffer(key: record.key, value: record.value, offset: record.offset, timestamp: record.timestamp)
    }

    /// - Parameter timestamp: the time of the record, in milliseconds since 1970.
    package func buffer(
        key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64, timestamp: Int64?
    ) throws(StoreError) {
        identityCheck.check(key: key, value: value, offset: offset)
        // The last applied record is read again, only to identify the topic. Its row in the file may be newer.
        guard offset >= receivedProgress.offset, let key, !key.isEmpty else { return }
        try buffer(key, value: value)
        receivedProgress.offset = offset + 1
        if let timestamp { receivedProgress.completeUntil = WallTime(milliseconds: timestamp) }
    }

    private func buffer(_ key: Span<UInt8>, value: Span<UInt8>?) throws(StoreError) {
        try withStoredKey(for: key) { stored throws(StoreError) in
            guard stored.count <= EnvironmentLimits.keyBytesMax else { return }
            guard restore == nil else {
                if let value { try restore?.put(stored, value: value) } else { try restore?.remove(stored) }
                return
            }
            if let value { rows.putWithChecksum(stored, value: value) } else { rows.remove(stored) }
        }
        guard let derive, let value else { return }
        // The row is taken out of `self`, because `withStoredKey` uses `self`.
        var row = DerivedRow()
        swap(&row, &derivedRow)
        defer { swap(&row, &derivedRow) }
        guard derive(key, value, &row) else { return }
        try withStoredKey(for: row.key.span) { stored throws(StoreError) in
            if restore == nil {
                derivedRows.putWithChecksum(stored, value: row.value.span)
            } else {
                try restore?.put(stored, value: row.value.span)
            }
        }
    }

    /// Buffers a row that the loop knows better than the file. It is written before the rows from the topic, so those
    /// win.
    package func put(key: Span<UInt8>, value: Span<UInt8>) {
        withStoredKey(for: key) { overrides.putWithChecksum($0, value: value) }
    }

    /// Buffers the removal of a row that the topic has dropped because of its age, or that is not needed any more.
    package func remove(key: Span<UInt8>) { withStoredKey(for: key) { overrides.remove($0) } }

    /// Calls `body` with the key in the file's order.
    private func withStoredKey<Result, E: Error>(
        for key: Span<UInt8>, body: (Span<UInt8>) throws(E) -> Result
    ) throws(E) -> Result {
        guard let order else { return try body(key) }
        // The memory is taken out of `self`, because `body` may use `self`.
        var stored: [UInt8] = []
        swap(&stored, &scratch)
        defer { swap(&stored, &scratch) }
        stored.removeAll(keepingCapacity: true)
        order.writeStoredKey(for: key, to: &stored)
        return try body(stored.span)
    }

    /// Calls `body` with the key in the topic's order.
    private func withTopicKey(for stored: Span<UInt8>, body: (Span<UInt8>) -> Void) {
        guard let order else { return body(stored) }
        var key: [UInt8] = []
        swap(&key, &scratch)
        defer { swap(&key, &scratch) }
        key.removeAll(keepingCapacity: true)
        order.writeTopicKey(for: stored, to: &key)
        body(key.span)
    }

    /// Notes that the partition ends at the offset now, and that all its records were read.
    package func advance(to end: Int64, now: WallTime) {
        identityCheck.recordRead(upTo: end)
        receivedProgress.offset = max(receivedProgress.offset, end)
        receivedProgress.completeUntil = now
        canFinishRestore = true
    }

    /// Writes the pending rows and their offset to the file in one step. If it throws, the rows stay for the next
    /// attempt. While the file is restored, it writes nothing before the end of the topic. If a restore fails, the file
    /// is unusable.
    ///
    /// - Parameter each: called with the key of each row from the topic, after the write. A restore does not call it,
    ///   because no commit of this loop is older.
    package func writePendingRows(forEach each: (Span<UInt8>) -> Void) throws(StoreError) {
        if restore != nil {
            if canFinishRestore { try finishRestore() }
            return
        }
        receivedProgress.lastRecord = try identityCheck.confirmedRecord(path: file.environment.path)
        rows.sort()
        overrides.sort()
        derivedRows.sort()
        try file.write { transaction throws(StoreError) in
            try transaction.apply(overrides, to: table)
            try transaction.apply(rows, to: table)
            try transaction.apply(derivedRows, to: table)
            try transaction.setAppliedProgress(
                receivedProgress, ofTopic: topicPartition.topic, partition: topicPartition.partition)
        }
        appliedOffset = receivedProgress.offset
        emptyRange = nil
        cachedCount = nil
        for index in 0..<rows.count { withTopicKey(for: rows.key(at: index), body: each) }
        Self.clear(&rows)
        Self.clear(&derivedRows)
        Self.clear(&overrides)
    }

    /// Writes the sorted rows, and then the offset.
    private func finishRestore() throws(StoreError) {
        guard var rows = restore.take() else { return }
        // Rows that are read from now on are newer than the restore.
        receivedProgress.lastRecord = try identityCheck.confirmedRecord(path: file.environment.path)
        let (table, progress, topicPartition) = (table, receivedProgress, topicPartition)
        var writer = SortedTableWriter(
            file: file, rowsMax: Self.restoreTransactionRowsMax, retryPolicy: DiskFullRetryPolicy())
        try rows.drain { key, value throws(StoreError) in
            if let value { try writer.put(key, value: value, in: table) }
        }
        try writer.flush()
        try file.write { transaction throws(StoreError) in
            try transaction.setAppliedProgress(
                progress, ofTopic: topicPartition.topic, partition: topicPartition.partition)
        }
        appliedOffset = progress.offset
        emptyRange = nil
        cachedCount = nil
    }

    private static func clear(_ batch: inout RowBatch) {
        if batch.byteCount > keptBatchBytesMax { batch = RowBatch() } else { batch.removeAll() }
    }

    // MARK: Lookups

    /// Opens an unchanging snapshot of the file for lookups.
    package func withSnapshot(_ body: (borrowing ReadSnapshot) throws(StoreError) -> Void) throws(StoreError)
    {
        try file.read(body)
    }

    /// Looks up a row. A row that is not as it was written is an error, and the file is unusable.
    package func lookUp(
        _ key: Span<UInt8>, in snapshot: borrowing ReadSnapshot, found: (_ value: Span<UInt8>) -> Void
    ) throws(StoreError) {
        try withStoredKey(for: key) { stored throws(StoreError) in
            if let value = try snapshot.value(of: stored, in: table) { found(value) }
        }
    }

    /// Returns whether a row exists. If it does not, the surrounding range without rows is kept, so that the next keys
    /// in the file's order need no lookup.
    package func contains(_ key: Span<UInt8>) throws(StoreError) -> Bool {
        try withStoredKey(for: key) { stored throws(StoreError) in
            if let emptyRange, emptyRange.contains(stored) { return false }
            emptyRange = try file.read { snapshot throws(StoreError) in
                try snapshot.keyGap(at: stored, in: table)
            }
            return emptyRange == nil
        }
    }

    /// Reads a page of rows in the file's order, and moves `range` behind it. Returns true if there may be more.
    package func readPage(
        of range: inout KeyRange, rows: Int, forEach each: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) throws(StoreError) -> Bool {
        var isIntact = true
        let hasMore = try file.read { snapshot throws(StoreError) in
            try snapshot.readPage(of: table, range: &range, rowsMax: rows) { key, stored in
                if RowChecksum.isValid(key: key, stored: stored) {
                    withTopicKey(for: key) {
                        each($0, stored.extracting(RowChecksum.byteCount..<stored.count))
                    }
                } else {
                    isIntact = false
                }
            }
        }
        if !isIntact { throw StoreError.changedRow(path: file.environment.path) }
        return hasMore
    }

    /// Returns the number of rows. It reads the file only after a change, because a call each second would keep the
    /// file open.
    package func count() throws(StoreError) -> Int {
        if let cachedCount { return cachedCount }
        let count = try file.read { snapshot throws(StoreError) in try snapshot.count(of: table) }
        cachedCount = count
        return count
    }

    package func close() throws(StoreError) { try file.close() }

    /// Marks the file as unusable. The next opening starts with an empty file and gives the reason.
    package func markUnusable(reason: String) throws(StoreError) { try file.markUnusable(because: reason) }
}
