package import Kafka
package import Store
package import Telemetry

/// A row that a view keeps beside that of a record, in memory that is used again.
package struct DerivedRow: Equatable {
    package var key: [UInt8] = []
    package var value: [UInt8] = []

    package init() {}
}

/// Which topic a view is of, and how it lies on disk.
package struct TopicViewForm: Sendable {
    /// With its prefix.
    package let topic: String
    /// The topic's rows in the file, and the beginning of the file's name.
    package let table: String
    /// Another number is another layout of the file; then it is rebuilt.
    package let schema: Int
    /// A row that the view keeps beside that of a record.
    package var derive: Derivation?
    /// Nil: by the keys of the topic.
    package var order: (any RowOrder.Type)?

    /// False for a record that brings none along.
    package typealias Derivation =
        @Sendable (_ key: Span<UInt8>, _ value: Span<UInt8>, _ row: inout DerivedRow) -> Bool

    package init(topic: String, table: String, schema: Int) {
        self.topic = topic
        self.table = table
        self.schema = schema
    }
}

/// One partition of a compacted topic on the local disk: a cache of the topic, changed by what is read from
/// the topic, and ahead of it only in what its loop keeps there itself. Pinned to its loop's thread.
package final class TopicView {
    /// Kept back from the time for which the topic remembers deletions, for clocks that differ.
    private static let ageMarginMilliseconds: Int64 = 3_600_000
    /// Memory that is kept for what is entered next; there is one view for each partition.
    private static let roomBytesMax = 1 << 20

    package let place: Kafka.TopicPartition
    private let file: StateFile
    private let table: Table
    private let derive: TopicViewForm.Derivation?
    private let order: (any RowOrder.Type)?
    /// A key as the file has it, or as the topic has it, in hand.
    private var scratch: [UInt8] = []
    /// The next offset of the topic that the file wants.
    package private(set) var applied: Int64
    /// Read from the topic, and not in the file yet.
    private var rows = RowBatch()
    /// What they bring along.
    private var derived = RowBatch()
    /// What one of them brings along.
    private var derivedRow = DerivedRow()
    /// What the loop keeps in rows that the file has.
    private var kept = RowBatch()
    /// Where the file is known to have nothing.
    private var gap: KeyGap?
    private var counted: Int?
    private var taken: Applied
    private var identity: TopicIdentity

    /// - Parameter cluster: the cluster's id; a file of another one is discarded.
    package init(
        _ form: TopicViewForm, partition: Int32, directory: String, cluster: String,
        deleteRetentionMilliseconds: Int64, limits: Limits, now: WallTime, boot: BootID
    ) throws(StoreError) {
        let place = Kafka.TopicPartition(form.topic, partition)
        let terms = Terms(
            schema: form.schema, origin: "\(cluster) \(place)",
            ageMaxMilliseconds: deleteRetentionMilliseconds - Self.ageMarginMilliseconds)
        let file = try StateFile(
            directory, terms, tables: [form.table], limits: limits, now: now, boot: boot)
        let own = Store.TopicPartition(place.topic, place.partition)
        let found = try file.read { view throws(StoreError) in try view.applied(own) }
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
    /// Rows that a full disk has kept out so far.
    package var pending: Int { rows.count + derived.count + kept.count }

    /// A record of the topic; `settle` enters it.
    package func hear(_ record: borrowing Kafka.Record) {
        identity.hear(record.key, record.value, offset: record.offset)
        // The last record that is there comes once more, to tell the topic; its row may know more by now.
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

    /// A row of the file as the loop knows it better; `settle` enters it, below what was taken from the topic.
    package func keep(_ key: Span<UInt8>, _ value: Span<UInt8>) {
        withStored(key) { kept.putChecked($0, value) }
    }

    /// A row of the file that its topic has let go by its age; `settle` takes it out.
    package func drop(_ key: Span<UInt8>) { withStored(key) { kept.remove($0) } }

    /// The key as the file has it.
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

    /// The key as the topic has it.
    private func withKey(_ stored: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        guard let order else { return body(stored) }
        var key: [UInt8] = []
        swap(&key, &scratch)
        defer { swap(&key, &scratch) }
        key.removeAll(keepingCapacity: true)
        order.write(key: stored, to: &key)
        body(key.span)
    }

    /// Everything below the offset has been taken.
    package func reached(_ end: Int64, now: WallTime) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = now
    }

    /// Enters what was taken, with the offset it stands for, in one step. When it throws, what was taken
    /// is kept for the next try.
    package func settle(_ each: (Span<UInt8>) -> Void) throws(StoreError) {
        let own = Store.TopicPartition(place.topic, place.partition)
        taken.last = try identity.confirmed(file.environment.path)
        rows.sort()
        kept.sort()
        derived.sort()
        try file.write { transaction throws(StoreError) in
            try transaction.apply(kept, to: table)
            try transaction.apply(rows, to: table)
            try transaction.apply(derived, to: table)
            try transaction.setApplied(taken, of: own)
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

    /// One unchanging picture, in which rows are looked up.
    package func read(_ body: (borrowing Picture) throws(StoreError) -> Void) throws(StoreError) {
        try file.read(body)
    }

    /// A row that is not what was written is an error that condemns the file.
    package func look(
        _ key: Span<UInt8>, in view: borrowing Picture, _ found: (_ value: Span<UInt8>) -> Void
    ) throws(StoreError) {
        try withStored(key) { stored throws(StoreError) in
            if let value = try view.value(of: stored, in: table) { found(value) }
        }
    }

    /// Whether there is such a row: for keys that are asked for in the file's order. One that is not there tells
    /// how far there is none, and those are not looked for.
    package func has(_ key: Span<UInt8>) throws(StoreError) -> Bool {
        try withStored(key) { stored throws(StoreError) in
            if let gap, gap.holds(stored) { return false }
            gap = try file.read { picture throws(StoreError) in try picture.gap(at: stored, in: table) }
            return gap == nil
        }
    }

    /// A page of rows in key order; true when there may be more.
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

    /// The next opening begins from nothing and says why.
    package func condemn(_ reason: String) throws(StoreError) { try file.condemn(reason) }
}
