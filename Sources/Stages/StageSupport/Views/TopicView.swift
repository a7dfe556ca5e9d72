package import Kafka
package import Lifecycle
package import Store
package import Telemetry

/// A second row that a view stores for a record. Its memory is used again.
package struct DerivedRow: Equatable {
    package var key: [UInt8] = []
    package var value: [UInt8] = []

    package init() {}
}

/// The topic of a view and the layout of its file.
package struct TopicViewDefinition: Sendable {
    /// The topic's name with its prefix.
    package let topic: String
    /// The name of the table in the file, and the beginning of the file's name.
    package let table: String
    /// The version of the file's layout. A file with another version is rebuilt.
    package let schema: Int
    /// Makes the second row that the view stores for a record.
    package var derive: Derivation?
    /// The order of the rows in the file. Nil for the order of the topic's keys.
    package var rowOrder: (any RowOrder.Type)?

    /// Writes the derived row. Returns false if the record has none.
    package typealias Derivation =
        @Sendable (_ key: Span<UInt8>, _ value: Span<UInt8>, _ row: inout DerivedRow) -> Bool

    package init(topic: String, table: String, schema: Int) {
        self.topic = topic
        self.table = table
        self.schema = schema
    }
}

/// One partition of a compacted topic on the local disk. It is a cache of the topic, filled from the
/// topic's records. It is ahead of the topic only in the rows that its loop keeps in it directly. Pinned to
/// its loop's thread.
package final class TopicView {
    /// A margin below the topic's retention of deletions, because clocks differ.
    private static let ageMarginMilliseconds: Int64 = 3_600_000
    /// The most memory that an empty batch keeps. There is one view for each partition.
    private static let keptBatchBytesMax = 1 << 20

    package let topicPartition: TopicPartition
    private let file: StateFile
    private let table: Table
    private let derive: TopicViewDefinition.Derivation?
    private let order: (any RowOrder.Type)?
    /// The memory for the key that is being converted between the file's form and the topic's form.
    private var scratch: [UInt8] = []
    /// The offset of the next topic record that the file needs.
    package private(set) var appliedOffset: Int64
    /// Rows that were read from the topic and are not in the file yet.
    private var rows = RowBatch()
    /// The derived rows of `rows`.
    private var derivedRows = RowBatch()
    /// The memory for the next derived row.
    private var derivedRow = DerivedRow()
    /// Rows of the file that the loop changes directly.
    private var overrides = RowBatch()
    /// A range of keys in which the file is known to have no row.
    private var emptyRange: KeyGap?
    private var cachedCount: Int?
    private var receivedProgress: AppliedProgress
    private var identityCheck: TopicIdentityCheck

    /// - Parameter cluster: the cluster's id. A file of another cluster is discarded.
    package init(
        definition form: TopicViewDefinition, partition: Int32, directory: String, cluster: String,
        deleteRetentionMilliseconds: Int64, limits: EnvironmentLimits, now: WallTime, boot: BootID
    ) throws(StoreError) {
        let place = TopicPartition(form.topic, partition)
        let terms = ReuseConditions(
            schema: form.schema, origin: "\(cluster) \(place)",
            ageMaxMilliseconds: deleteRetentionMilliseconds - Self.ageMarginMilliseconds)
        let file = try StateFile(
            directory: directory, conditions: terms, tables: [form.table], limits: limits, now: now,
            boot: boot)
        let stored = try file.read { view throws(StoreError) in
            try view.appliedProgress(ofTopic: place.topic, partition: place.partition)
        }
        self.topicPartition = place
        self.file = file
        table = file.table(named: form.table)
        derive = form.derive
        order = form.rowOrder
        receivedProgress = stored ?? AppliedProgress(offset: 0, completeUntil: now)
        identityCheck = TopicIdentityCheck(progress: stored)
        appliedOffset = receivedProgress.offset
    }

    package var openingState: OpeningState { file.openingState }
    package var startPosition: PartitionStart {
        PartitionStart(
            partition: topicPartition,
            position: appliedOffset > 0 ? .offset(identityCheck.startOffset ?? appliedOffset) : .beginning)
    }
    /// The number of rows that are not in the file yet, for example because the disk is full.
    package var pendingRowCount: Int { rows.count + derivedRows.count + overrides.count }

    /// Takes a record of the topic. `settle` writes it to the file.
    package func buffer(_ record: borrowing Kafka.Record) {
        identityCheck.check(key: record.key, value: record.value, offset: record.offset)
        // The view reads its last applied record again to identify the topic. Its row in the file may be
        // newer.
        guard record.offset >= receivedProgress.offset else { return }
        guard let key = record.key, !key.isEmpty else { return }
        withStoredKey(for: key) { stored in
            guard stored.count <= EnvironmentLimits.keyBytesMax else { return }
            if let value = record.value {
                rows.putWithChecksum(stored, value: value)
            } else {
                rows.remove(stored)
            }
        }
        if let derive, let value = record.value {
            var row = DerivedRow()
            swap(&row, &derivedRow)
            if derive(key, value, &row) {
                withStoredKey(for: row.key.span) { derivedRows.putWithChecksum($0, value: row.value.span) }
            }
            swap(&row, &derivedRow)
        }
        receivedProgress.offset = record.offset + 1
        if let time = record.timestamp { receivedProgress.completeUntil = WallTime(milliseconds: time) }
    }

    /// Takes a row that the loop knows better than the file. `settle` writes it before the rows from the
    /// topic, so those win.
    package func put(key: Span<UInt8>, value: Span<UInt8>) {
        withStoredKey(for: key) { overrides.putWithChecksum($0, value: value) }
    }

    /// Takes a row that the topic has dropped because of its age. `settle` removes it from the file.
    package func remove(key: Span<UInt8>) { withStoredKey(for: key) { overrides.remove($0) } }

    /// Calls `body` with the key in the file's form.
    private func withStoredKey<Result, E: Error>(
        for key: Span<UInt8>, body: (Span<UInt8>) throws(E) -> Result
    ) throws(E) -> Result {
        guard let order else { return try body(key) }
        var stored: [UInt8] = []
        swap(&stored, &scratch)
        defer { swap(&stored, &scratch) }
        stored.removeAll(keepingCapacity: true)
        order.writeStoredKey(for: key, to: &stored)
        return try body(stored.span)
    }

    /// Calls `body` with the key in the topic's form.
    private func withTopicKey(for stored: Span<UInt8>, body: (Span<UInt8>) -> Void) {
        guard let order else { return body(stored) }
        var key: [UInt8] = []
        swap(&key, &scratch)
        defer { swap(&key, &scratch) }
        key.removeAll(keepingCapacity: true)
        order.writeTopicKey(for: stored, to: &key)
        body(key.span)
    }

    /// Marks that all records below the offset have been taken.
    package func advance(to end: Int64, now: WallTime) {
        identityCheck.recordRead(upTo: end)
        receivedProgress.offset = max(receivedProgress.offset, end)
        receivedProgress.completeUntil = now
    }

    /// Writes the pending rows and their offset to the file in one step. If it throws, the rows stay for
    /// the next attempt.
    package func writePendingRows(forEach each: (Span<UInt8>) -> Void) throws(StoreError) {
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

    private static func clear(_ batch: inout RowBatch) {
        if batch.byteCount > keptBatchBytesMax { batch = RowBatch() } else { batch.removeAll() }
    }

    /// Opens one unchanging snapshot for lookups.
    package func withSnapshot(_ body: (borrowing ReadSnapshot) throws(StoreError) -> Void) throws(StoreError)
    {
        try file.read(body)
    }

    /// Looks up a row. A row that differs from the written row is an error that condemns the file.
    package func lookUp(
        _ key: Span<UInt8>, in view: borrowing ReadSnapshot, found: (_ value: Span<UInt8>) -> Void
    ) throws(StoreError) {
        try withStoredKey(for: key) { stored throws(StoreError) in
            if let value = try view.value(of: stored, in: table) { found(value) }
        }
    }

    /// Whether the row exists, for keys that are asked in the file's order. A missing row also gives the
    /// range of keys without rows. Keys in that range need no lookup.
    package func contains(_ key: Span<UInt8>) throws(StoreError) -> Bool {
        try withStoredKey(for: key) { stored throws(StoreError) in
            if let emptyRange, emptyRange.contains(stored) { return false }
            emptyRange = try file.read { picture throws(StoreError) in
                try picture.keyGap(at: stored, in: table)
            }
            return emptyRange == nil
        }
    }

    /// Reads a page of rows in key order. Returns true if there may be more.
    package func readPage(
        of range: inout KeyRange, rows: Int, forEach each: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) throws(StoreError) -> Bool {
        var isIntact = true
        let more = try file.read { view throws(StoreError) in
            try view.readPage(of: table, range: &range, rowsMax: rows) { key, stored in
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
        return more
    }

    /// Returns the number of rows. Only a change makes it look into the file, because a question each second would
    /// keep the file open.
    package func count() throws(StoreError) -> Int {
        if let cachedCount { return cachedCount }
        let rows = try file.read { view throws(StoreError) in try view.count(of: table) }
        cachedCount = rows
        return rows
    }

    package func close() throws(StoreError) { try file.close() }

    /// Marks the file as unusable. The next opening starts with an empty file and gives the reason.
    package func markUnusable(reason: String) throws(StoreError) { try file.markUnusable(because: reason) }
}
