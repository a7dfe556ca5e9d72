internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store
internal import Telemetry

/// The read models of one lane's receipts on disk: rows, and how far the topic was read, changed in one
/// transaction. Pinned to its loop's thread.
///
/// Whatever goes wrong with it, it is closed and opened again: what was taken and not entered is read again.
final class ReceiptFile {
    /// Another number is another layout; then the file is rebuilt.
    static let schema = 1
    /// As long as the topic keeps its records: what an older file wants next is gone.
    private static let ageMaxMilliseconds: Int64 = 7 * 86_400_000

    let place: Kafka.TopicPartition
    private let file: StateFile
    private let stored: StoredReceipts
    /// The next offset of the topic that the file wants.
    private(set) var applied: Int64
    private var batch = ReceiptBatch()
    private var receipts = RowBatch()
    private var marks = RowBatch()
    private var changed = RowBatch()
    private var taken: Applied
    private var identity: TopicIdentity
    private var key: [UInt8] = []
    private var value: [UInt8] = []
    private var sweeps = Sweeps()

    init(
        _ directory: String, of place: Kafka.TopicPartition, cluster: String, limits: Limits, boot: BootID,
        reader: JSONReader
    ) throws(StoreError) {
        let terms = Terms(
            schema: Self.schema, origin: "\(cluster) \(place)", ageMaxMilliseconds: Self.ageMaxMilliseconds)
        let now = WallTime.now()
        let file = try StateFile(
            directory, terms, tables: ReceiptTable.allCases.map(\.rawValue), limits: limits, now: now,
            boot: boot)
        let own = Store.TopicPartition(place.topic, place.partition)
        let found = try file.read { view throws(StoreError) in try view.applied(own) }
        self.place = place
        self.file = file
        stored = StoredReceipts(file: file, reader: reader)
        taken = found ?? Applied(offset: 0, asOf: now)
        identity = TopicIdentity(found)
        applied = taken.offset
    }

    var beginning: Beginning { file.beginning }

    var start: PartitionStart {
        PartitionStart(place, applied > 0 ? .offset(identity.start ?? applied) : .beginning)
    }

    // MARK: Taking

    /// Every record of the topic, in its order.
    ///
    /// - Returns: false for one that is known already: it came to show that the topic is the same.
    func meet(_ record: borrowing Kafka.Record) -> Bool {
        identity.take(record.key, record.value, offset: record.offset)
        guard record.offset >= taken.offset else { return false }
        taken.offset = record.offset + 1
        if let time = record.timestamp { taken.asOf = WallTime(milliseconds: time) }
        return true
    }

    /// Everything below the offset has been met.
    func reached(_ end: Int64) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = .now()
    }

    /// - Parameters:
    ///   - json: the record's value.
    ///   - lines: its header `to`.
    func take(
        _ receipt: Receipt, at offset: Int64, json: Span<UInt8>, lines: Span<UInt8>
    ) throws(StoreError) {
        try batch.take(receipt, over: stored)
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        swap(&key, &self.key)
        swap(&value, &self.value)
        defer {
            swap(&key, &self.key)
            swap(&value, &self.value)
        }
        key.removeAll(keepingCapacity: true)
        BigEndian.append(offset, to: &key)
        Self.begin(&value, at: receipt.at)
        BigEndian.append(UInt32(json.count), to: &value)
        value.append(copying: json)
        value.append(copying: lines)
        receipts.putChecked(key.span, value.span)
        Self.begin(&value, at: receipt.at)
        AddresseeMarks.append(of: lines, app: receipt.app, to: &value)
        marks.putChecked(key.span, value.span)
    }

    private static func begin(_ value: inout [UInt8], at time: Int64) {
        value.removeAll(keepingCapacity: true)
        BigEndian.append(time, to: &value)
    }

    /// Enters what was taken, with the offset it stands for, in one step.
    func settle() throws(StoreError) {
        taken.last = try identity.confirmed(file.environment.path)
        let own = Store.TopicPartition(place.topic, place.partition)
        try file.write { transaction throws(StoreError) in
            writeFinished()
            try transaction.apply(changed, to: file.table(.finished))
            writeTallies()
            try transaction.apply(changed, to: file.table(.tallies))
            try transaction.apply(receipts, to: file.table(.receipts))
            try transaction.apply(marks, to: file.table(.marks))
            try transaction.setApplied(taken, of: own)
        }
        applied = taken.offset
        batch.removeAll()
        changed.removeAll()
        receipts.removeAll()
        marks.removeAll()
    }

    private func writeFinished() {
        changed.removeAll()
        var value: [UInt8] = []
        for (place, lines) in batch.finished {
            value.removeAll(keepingCapacity: true)
            lines.append(to: &value)
            changed.putChecked(place.key.span, value.span)
        }
        changed.sort()
    }

    private func writeTallies() {
        changed.removeAll()
        var value: [UInt8] = []
        for (key, tally) in batch.tallies {
            Self.begin(&value, at: tally.at)
            value.append(contentsOf: tally.encoded())
            changed.putChecked(key.bytes.span, value.span)
        }
        changed.sort()
    }

    // MARK: Forgetting

    /// Removes some rows that are older, in each table from where it stopped.
    ///
    /// - Returns: how many.
    func forget(before time: Int64) throws(StoreError) -> Int {
        var count = 0
        for table in ReceiptTable.allCases {
            let old = try sweeps.next(of: table, in: file, before: time)
            if old.isEmpty { continue }
            try file.write { transaction throws(StoreError) in
                try transaction.apply(old, to: file.table(table))
            }
            count += old.count
        }
        return count
    }

    // MARK: The end

    func close() throws(StoreError) { try file.close() }

    /// The next opening begins from nothing and says why.
    func condemn(_ reason: String) throws(StoreError) { try file.condemn(reason) }

    // MARK: Questions

    func rows(of table: ReceiptTable) throws(StoreError) -> Int {
        try file.read { view throws(StoreError) in try view.count(of: file.table(table)) }
    }

    /// What this lane knows of a send.
    func report(of send: String, app: String) throws(StoreError) -> SendReport {
        var report = SendReport()
        for environment in Environment.allCases {
            let key = SendTally.Key(app: app, send: send, environment: environment)
            if let tally = try stored.tally(key) { report.add(tally, of: environment) }
        }
        return report
    }
}

extension [UInt8] {
    fileprivate mutating func append(copying span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
