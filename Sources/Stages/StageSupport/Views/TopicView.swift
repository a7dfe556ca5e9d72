package import Kafka
package import Store
package import Telemetry

/// A second row that a view stores for a record. Its memory is used again.
package struct DerivedRow: Equatable {
    package var key: [UInt8] = []
    package var value: [UInt8] = []

    package init() {}
}

/// The topic of a view and the layout of its file.
package struct TopicViewForm: Sendable {
    /// The topic's name with its prefix.
    package let topic: String
    /// The name of the table in the file, and the beginning of the file's name.
    package let table: String
    /// The version of the file's layout. A file with another version is rebuilt.
    package let schema: Int
    /// Makes the second row that the view stores for a record.
    package var derive: Derivation?
    /// The order of the rows in the file. Nil for the order of the topic's keys.
    package var order: (any RowOrder.Type)?

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
    private static let roomBytesMax = 1 << 20

    package let place: TopicPartition
    private let file: StateFile
    private let table: Table
    private let derive: TopicViewForm.Derivation?
    private let order: (any RowOrder.Type)?
    /// The memory for the key that is being converted between the file's form and the topic's form.
    private var scratch: [UInt8] = []
    /// The offset of the next topic record that the file needs.
    package private(set) var applied: Int64
    /// Rows that were read from the topic and are not in the file yet.
    private var rows = RowBatch()
    /// The derived rows of `rows`.
    private var derived = RowBatch()
    /// The memory for the next derived row.
    private var derivedRow = DerivedRow()
    /// Rows of the file that the loop changes directly.
    private var kept = RowBatch()
    /// A range of keys in which the file is known to have no row.
    private var gap: KeyGap?
    private var counted: Int?
    private var taken: Applied
    private var identity: TopicIdentity

    /// - Parameter cluster: the cluster's id. A file of another cluster is discarded.
    package init(
        _ form: TopicViewForm, partition: Int32, directory: String, cluster: String,
        deleteRetentionMilliseconds: Int64, limits: Limits, now: WallTime, boot: BootID
    ) throws(StoreError) {
        let place = TopicPartition(form.topic, partition)
        let terms = Terms(
            schema: form.schema, origin: "\(cluster) \(place)",
            ageMaxMilliseconds: deleteRetentionMilliseconds - Self.ageMarginMilliseconds)
        let file = try StateFile(
            directory, terms, tables: [form.table], limits: limits, now: now, boot: boot)
        let found = try file.read { view throws(StoreError) in
            try view.applied(place.topic, place.partition)
        }
        self.place = place
        self.file = file
        table = file.table(form.table)
        derive = form.derive
        order = form.order
        taken = found ?? Applied(offset: 0, asOf: now)
        identity = TopicIdentity(found)
        applied = taken.offset
    }

    package var beginning: Beginning { file.beginning }
    package var start: PartitionStart {
        PartitionStart(place, applied > 0 ? .offset(identity.start ?? applied) : .beginning)
    }
    /// The number of rows that are not in the file yet, for example because the disk is full.
    package var pending: Int { rows.count + derived.count + kept.count }

    /// Takes a record of the topic. `settle` writes it to the file.
    package func hear(_ record: borrowing Kafka.Record) {
        identity.hear(record.key, record.value, offset: record.offset)
        // The view reads its last applied record again to identify the topic. Its row in the file may be
        // newer.
        guard record.offset >= taken.offset else { return }
        guard let key = record.key, !key.isEmpty else { return }
        withStored(key) { stored in
            guard stored.count <= Limits.keyBytesMax else { return }
            if let value = record.value { rows.putChecked(stored, value) } else { rows.remove(stored) }
        }
        if let derive, let value = record.value {
            var row = DerivedRow()
            swap(&row, &derivedRow)
            if derive(key, value, &row) {
                withStored(row.key.span) { derived.putChecked($0, row.value.span) }
            }
            swap(&row, &derivedRow)
        }
        taken.offset = record.offset + 1
        if let time = record.timestamp { taken.asOf = WallTime(milliseconds: time) }
    }

    /// Takes a row that the loop knows better than the file. `settle` writes it before the rows from the
    /// topic, so those win.
    package func keep(_ key: Span<UInt8>, _ value: Span<UInt8>) {
        withStored(key) { kept.putChecked($0, value) }
    }

    /// Takes a row that the topic has dropped because of its age. `settle` removes it from the file.
    package func drop(_ key: Span<UInt8>) { withStored(key) { kept.remove($0) } }

    /// Calls `body` with the key in the file's form.
    private func withStored<Result, E: Error>(
        _ key: Span<UInt8>, _ body: (Span<UInt8>) throws(E) -> Result
    ) throws(E) -> Result {
        guard let order else { return try body(key) }
        var stored: [UInt8] = []
        swap(&stored, &scratch)
        defer { swap(&stored, &scratch) }
        stored.removeAll(keepingCapacity: true)
        order.write(stored: key, to: &stored)
        return try body(stored.span)
    }

    /// Calls `body` with the key in the topic's form.
    private func withKey(_ stored: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        guard let order else { return body(stored) }
        var key: [UInt8] = []
        swap(&key, &scratch)
        defer { swap(&key, &scratch) }
        key.removeAll(keepingCapacity: true)
        order.write(key: stored, to: &key)
        body(key.span)
    }

    /// Marks that all records below the offset have been taken.
    package func reached(_ end: Int64, now: WallTime) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = now
    }

    /// Writes the pending rows and their offset to the file in one step. If it throws, the rows stay for
    /// the next attempt.
    package func settle(_ each: (Span<UInt8>) -> Void) throws(StoreError) {
        taken.last = try identity.confirmed(file.environment.path)
        rows.sort()
        kept.sort()
        derived.sort()
        try file.write { transaction throws(StoreError) in
            try transaction.apply(kept, to: table)
            try transaction.apply(rows, to: table)
            try transaction.apply(derived, to: table)
            try transaction.setApplied(taken, of: place.topic, place.partition)
        }
        applied = taken.offset
        gap = nil
        counted = nil
        for index in 0..<rows.count { withKey(rows.key(index), each) }
        Self.empty(&rows)
        Self.empty(&derived)
        Self.empty(&kept)
    }

    private static func empty(_ batch: inout RowBatch) {
        if batch.byteCount > roomBytesMax { batch = RowBatch() } else { batch.removeAll() }
    }

    /// Opens one unchanging snapshot for lookups.
    package func read(_ body: (borrowing Picture) throws(StoreError) -> Void) throws(StoreError) {
        try file.read(body)
    }

    /// Looks up a row. A row that differs from the written row is an error that condemns the file.
    package func look(
        _ key: Span<UInt8>, in view: borrowing Picture, _ found: (_ value: Span<UInt8>) -> Void
    ) throws(StoreError) {
        try withStored(key) { stored throws(StoreError) in
            if let value = try view.value(of: stored, in: table) { found(value) }
        }
    }

    /// Whether the row exists, for keys that are asked in the file's order. A missing row also gives the
    /// range of keys without rows. Keys in that range need no lookup.
    package func has(_ key: Span<UInt8>) throws(StoreError) -> Bool {
        try withStored(key) { stored throws(StoreError) in
            if let gap, gap.holds(stored) { return false }
            gap = try file.read { picture throws(StoreError) in try picture.gap(at: stored, in: table) }
            return gap == nil
        }
    }

    /// Reads a page of rows in key order. Returns true if there may be more.
    package func page(
        _ range: inout KeyRange, rows: Int, _ each: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) throws(StoreError) -> Bool {
        var isWhole = true
        let more = try file.read { view throws(StoreError) in
            try view.page(of: table, &range, rows: rows) { key, stored in
                if RowCheck.holds(key, stored) {
                    withKey(key) { each($0, stored.extracting(RowCheck.bytes..<stored.count)) }
                } else {
                    isWhole = false
                }
            }
        }
        if !isWhole { throw StoreError.changedRow(file.environment.path) }
        return more
    }

    /// Returns the number of rows. Only a change makes it look into the file, because a question each second would
    /// keep the file open.
    package func count() throws(StoreError) -> Int {
        if let counted { return counted }
        let rows = try file.read { view throws(StoreError) in try view.count(of: table) }
        counted = rows
        return rows
    }

    package func close() throws(StoreError) { try file.close() }

    /// Marks the file as unusable. The next opening starts with an empty file and gives the reason.
    package func condemn(_ reason: String) throws(StoreError) { try file.condemn(reason) }
}
