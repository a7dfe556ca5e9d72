internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Store
internal import Telemetry

/// The receipts of one lane and their counts by send, in an LMDB file. `ReceiptTable` lists its tables.
final class ReceiptFile: LaneFile {
    /// The version of the layout. A file with another version is rebuilt.
    static let schema = 4

    var position: AppliedPosition
    private let file: StateFile
    private let storedReceipts: StoredReceipts
    /// The memory that a lane keeps for its next batch. More is released, so that other lanes can use it.
    private static let keptBytes = 1 << 20

    // The rows since the last commit.
    private var batch = ReceiptBatch()
    private var receipts = RowBatch()
    private var recipientHashes = RowBatch()
    // Buffers that are reused, so that a record or a commit allocates little.
    private var key: [UInt8] = []
    private var value: [UInt8] = []
    private var sweep = RetentionSweep()

    init(
        directory: String, of partition: TopicPartition, cluster: String, limits: EnvironmentLimits,
        boot: BootID,
        reader: JSONReader
    ) throws(StoreError) {
        let conditions = ReuseConditions(
            schema: Self.schema, origin: "\(cluster) \(partition)",
            ageMaxMilliseconds: InsightTopic.receipts.ageMaxMilliseconds)
        let file = try StateFile(
            directory: directory, conditions: conditions, tables: ReceiptTable.allCases.map(\.rawValue),
            limits: limits, now: .now(),
            boot: boot)
        position = AppliedPosition(
            of: partition,
            stored: try file.read { view throws(StoreError) in
                try view.appliedProgress(ofTopic: partition.topic, partition: partition.partition)
            }
        )
        self.file = file
        storedReceipts = StoredReceipts(file: file.environment, reader: reader)
    }

    var openingState: OpeningState { file.openingState }
    /// The environment for threads that read beside the loop.
    var environment: Store.LMDBEnvironment { file.environment }

    // MARK: Records

    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> RecordOutcome {
        guard let json = record.value else {
            // A sender that takes a lane over writes a record with this header and without a value.
            if case .some = record.headers.last(named: TakeoverMarker.header) { return .ignored }
            return .unreadable
        }
        let receipt: Receipt
        do throws(RecordDecodingError) {
            receipt = try unsafe json.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe Receipt.decode(bytes, with: reader)
            }
        } catch { return .unreadable }
        if let header = record.headers.last(named: ReceiptLines.header), let lines = header.value {
            try add(receipt, at: record.offset, json: json, lines: lines)
        } else {
            // The receipt of an older sender has no header. It counts, but appears in no timeline.
            let noLines: [UInt8] = []
            try add(receipt, at: record.offset, json: json, lines: noLines.span)
        }
        return .entered
    }

    /// Counts a receipt and adds its rows.
    ///
    /// - Parameters:
    ///   - json: The record's value.
    ///   - lines: The record's header `to`.
    func add(
        _ receipt: Receipt, at offset: Int64, json: Span<UInt8>, lines: Span<UInt8>
    ) throws(StoreError) {
        try batch.count(receipt, systems: ReceiptLines.systemVersions(in: lines), storedIn: storedReceipts)
        withBuffers { key, value in
            BigEndian.append(offset, to: &key)
            Self.startValue(&value, at: receipt.writtenAt)
            BigEndian.append(UInt32(json.count), to: &value)
            value.append(copying: json)
            value.append(copying: lines)
            receipts.putWithChecksum(key.span, value: value.span)
            // The row of the hashes has the same key.
            Self.startValue(&value, at: receipt.writtenAt)
            RecipientHashes.appendHashes(ofRecipientsIn: lines, app: receipt.app, to: &value)
            recipientHashes.putWithChecksum(key.span, value: value.span)
        }
    }

    /// Lends the reused buffers to `body`, empty. They are taken out of the object meanwhile, so that `body` may change
    /// the object.
    private func withBuffers(_ body: (_ key: inout [UInt8], _ value: inout [UInt8]) -> Void) {
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        swap(&key, &self.key)
        swap(&value, &self.value)
        key.removeAll(keepingCapacity: true)
        value.removeAll(keepingCapacity: true)
        body(&key, &value)
        swap(&key, &self.key)
        swap(&value, &self.value)
    }

    /// Begins the value of a row with its time, by which `RetentionSweep` deletes it.
    private static func startValue(_ value: inout [UInt8], at time: Int64) {
        value.removeAll(keepingCapacity: true)
        BigEndian.append(time, to: &value)
    }

    /// Writes the collected rows and the offset up to which they were read, in one transaction.
    func commit() throws {
        let applied = try position.confirmed(path: file.environment.path)
        let partition = position.partition
        try file.write { transaction throws(StoreError) in
            try transaction.apply(finishedLineRows(), to: file.table(.finished))
            try transaction.apply(tallyRows(), to: file.table(.tallies))
            try transaction.apply(periodRows(), to: file.table(.series))
            try transaction.apply(receipts, to: file.table(.receipts))
            try transaction.apply(recipientHashes, to: file.table(.recipientHashes))
            try transaction.setAppliedProgress(
                applied, ofTopic: partition.topic, partition: partition.partition)
        }
        position.markCommitted()
        batch.removeAll()
        if receipts.byteCount > Self.keptBytes { receipts = RowBatch() } else { receipts.removeAll() }
        if recipientHashes.byteCount > Self.keptBytes {
            recipientHashes = RowBatch()
        } else {
            recipientHashes.removeAll()
        }
    }

    private func finishedLineRows() -> RowBatch {
        var rows = RowBatch()
        var value: [UInt8] = []
        for (sheetPosition, lines) in batch.finishedLines {
            value.removeAll(keepingCapacity: true)
            lines.append(to: &value)
            rows.putWithChecksum(sheetPosition.key.span, value: value.span)
        }
        rows.sort()
        return rows
    }

    private func tallyRows() -> RowBatch {
        var rows = RowBatch()
        var value: [UInt8] = []
        for (key, tally) in batch.tallies {
            Self.startValue(&value, at: tally.newestReceiptAt)
            value.append(contentsOf: tally.encoded())
            rows.putWithChecksum(key.bytes.span, value: value.span)
        }
        rows.sort()
        return rows
    }

    private func periodRows() -> RowBatch {
        var rows = RowBatch()
        var value: [UInt8] = []
        for (slot, period) in batch.periods {
            Self.startValue(&value, at: period.at)
            value.append(contentsOf: period.encoded())
            rows.putWithChecksum(slot.key.span, value: value.span)
        }
        rows.sort()
        return rows
    }

    // MARK: Retention

    func deleteRows(before time: Int64) throws -> DeletedRows {
        try ReceiptTable.allCases.reduce(DeletedRows()) { deleted, table in
            try deleted
                + sweep.deleteNextPage(of: table.rawValue, isInOrder: table.isInOrder, in: file, before: time)
        }
    }

    // MARK: The end

    func close() throws { try file.close() }

    func markUnusable(because reason: String) throws { try file.markUnusable(because: reason) }

    // MARK: Reading

    func rowCount(of table: ReceiptTable) throws(StoreError) -> Int {
        try file.read { view throws(StoreError) in try view.count(of: file.table(table)) }
    }

    /// Returns the report of this lane about a send.
    func report(of send: String, app: String) throws(StoreError) -> SendReport {
        try storedReceipts.report(of: send, app: app)
    }
}

extension [UInt8] {
    fileprivate mutating func append(copying span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
