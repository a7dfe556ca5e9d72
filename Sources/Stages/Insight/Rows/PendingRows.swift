internal import Store

/// The changes that a batch of records makes to the rows of a `RowFile`. They are written in one transaction
/// with the offset of the topic, or not at all.
final class PendingRows {
    private enum Change {
        /// The new value, with its time in front.
        case put([UInt8])
        case removal
    }

    private let file: StateFile
    /// The changes of each table, by the key of the row.
    private var changes: [RowTable: [[UInt8]: Change]] = [:]

    init(_ file: StateFile) { self.file = file }

    /// Returns the value of a row without its time, from the changes or from the file.
    func value(of key: [UInt8], in table: RowTable) throws(StoreError) -> [UInt8]? {
        switch changes[table]?[key] {
        case .put(let stored)?: return Array(stored.dropFirst(RetentionSweep.timeByteCount))
        case .removal?: return nil
        case nil: break
        }
        return try file.read { view throws(StoreError) in
            guard let value = try view.value(of: key.span, in: file.table(named: table.rawValue)) else {
                return nil
            }
            return RetentionSweep.valueWithoutTime(value)
        }
    }

    /// Sets a row. A key above the length limit is dropped, but limits on names prevent such keys.
    ///
    /// - Parameter time: The time by which the row gets old, in milliseconds since 1970. `.max` for a row that
    ///   stays until it is removed.
    func put(key: [UInt8], value: [UInt8], at time: Int64, in table: RowTable) {
        guard key.count <= EnvironmentLimits.keyBytesMax else { return }
        var stored: [UInt8] = []
        stored.reserveCapacity(RetentionSweep.timeByteCount + value.count)
        BigEndian.append(time, to: &stored)
        stored.append(contentsOf: value)
        changes[table, default: [:]][key] = .put(stored)
    }

    func remove(_ key: [UInt8], in table: RowTable) { changes[table, default: [:]][key] = .removal }

    /// Adds to a row of the table `counts`. A count of zero or less is removed.
    func changeCount(of key: [UInt8], by change: Int) throws(StoreError) {
        if change == 0 { return }
        let old = try value(of: key, in: .counts).map { Int(BigEndian.number(in: $0.span, at: 0)) } ?? 0
        let new = old + change
        if new <= 0 { return remove(key, in: .counts) }
        var bytes: [UInt8] = []
        BigEndian.append(UInt64(new), to: &bytes)
        put(key: key, value: bytes, at: .max, in: .counts)
    }

    func apply(to transaction: inout WriteTransaction) throws(StoreError) {
        for (table, rows) in changes {
            var batch = RowBatch()
            for (key, change) in rows {
                switch change {
                case .put(let stored): batch.putWithChecksum(key.span, value: stored.span)
                case .removal: batch.remove(key.span)
                }
            }
            batch.sort()
            try transaction.apply(batch, to: file.table(named: table.rawValue))
        }
    }

    func removeAll() { changes = [:] }
}
