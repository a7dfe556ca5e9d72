internal import Store

/// Passes over the tables of a file, a page at a time: which rows are old enough to go.
struct Sweeps {
    /// Rows that one look passes over.
    private static let rowsMax = 500

    private var left: [ReceiptTable: KeyRange] = [:]

    /// - Returns: the removals of the next page; when a table's end is reached, the next look begins it anew.
    mutating func next(
        of table: ReceiptTable, in file: StateFile, before time: Int64
    ) throws(StoreError) -> RowBatch {
        var old = RowBatch()
        var range = left[table] ?? .everything
        var isOld = true
        let more = try file.read { view throws(StoreError) in
            try view.page(of: file.table(table), &range, rows: Self.rowsMax) { key, stored in
                // The time first: what is young is not read to its end. A row that is not what was written is
                // left to whoever reads it.
                guard isOld, stored.count >= RowCheck.bytes + ReceiptTable.timeBytes,
                    BigEndian.number(in: stored, at: RowCheck.bytes) < UInt64(clamping: time)
                else {
                    isOld = isOld && !table.isInOrder
                    return
                }
                guard RowCheck.holds(key, stored) else { return }
                old.remove(key)
            }
        }
        left[table] = more && !table.isInOrder ? range : nil
        return old
    }
}
