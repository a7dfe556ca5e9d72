internal import Store

/// Passes over the tables of a file, a page at a time, and takes out what is old. Each value begins with
/// the milliseconds since 1970 of the newest thing in it.
struct Sweeps {
    static let timeBytes = 8
    /// Rows that one look passes over.
    private static let rowsMax = 500

    private var left: [String: KeyRange] = [:]

    /// Takes out the old rows of the next page; when a table's end is reached, the next look begins it anew.
    ///
    /// - Parameter isInOrder: its rows lie in the order of their time, nearly: the oldest are the first.
    /// - Returns: how many went.
    mutating func sweep(
        _ table: String, isInOrder: Bool, in file: StateFile, before time: Int64
    ) throws(StoreError) -> Int {
        var old = RowBatch()
        var range = left[table] ?? .everything
        var isOld = true
        let more = try file.read { view throws(StoreError) in
            try view.page(of: file.table(table), &range, rows: Self.rowsMax) { key, stored in
                // The time first: what is young is not read to its end. A row that is not what was written is
                // left to whoever reads it.
                guard isOld, stored.count >= RowCheck.bytes + Self.timeBytes,
                    BigEndian.number(in: stored, at: RowCheck.bytes) < UInt64(clamping: time)
                else {
                    isOld = isOld && !isInOrder
                    return
                }
                guard RowCheck.holds(key, stored) else { return }
                old.remove(key)
            }
        }
        left[table] = more && !isInOrder ? range : nil
        if old.isEmpty { return 0 }
        try file.write { transaction throws(StoreError) in try transaction.apply(old, to: file.table(table)) }
        return old.count
    }
}
