internal import Store

/// Deletes old rows from the tables of a lane file, one page at a time. Each value starts with the time of its
/// newest part in milliseconds since 1970, in big-endian order.
struct RetentionSweep {
    /// The size of the time in front of each value.
    static let timeByteCount = 8
    /// The rows of one page.
    private static let rowsMax = 500

    // The state of the pass through each table, by the table's name.
    /// The keys that the pass has not read yet.
    private var remainingRanges: [String: KeyRange] = [:]
    /// The time with which the current pass began.
    private var passTimes: [String: Int64] = [:]
    /// The time for which a whole pass is over. In a lane without new records the time stands still, so
    /// another pass would find nothing.
    private var finishedTimes: [String: Int64] = [:]

    /// Deletes the old rows of the next page. After the last page of a table the next call starts again.
    ///
    /// - Parameter isInOrder: Whether the rows are nearly in time order, with the oldest first.
    /// - Returns: The number of deleted rows.
    mutating func deleteNextPage(
        of table: String, isInOrder: Bool, in file: StateFile, before time: Int64
    ) throws(StoreError) -> Int {
        if finishedTimes[table] == time { return 0 }
        if remainingRanges[table] == nil { passTimes[table] = time }
        var oldRows = RowBatch()
        var range = remainingRanges[table] ?? .everything
        // In a table in order, the first young row ends the pass.
        var isBeforeYoungRow = true
        let hasMore = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table), range: &range, rowsMax: Self.rowsMax) {
                key, stored in
                // The time is checked first, so that young rows are not read completely. A corrupt row is
                // left for its reader to report.
                guard isBeforeYoungRow, stored.count >= RowChecksum.byteCount + Self.timeByteCount,
                    BigEndian.number(in: stored, at: RowChecksum.byteCount) < UInt64(clamping: time)
                else {
                    isBeforeYoungRow = isBeforeYoungRow && !isInOrder
                    return
                }
                guard RowChecksum.isValid(key: key, stored: stored) else { return }
                oldRows.remove(key)
            }
        }
        // A pass through a table in order begins at the first row again, because the rows before were deleted.
        remainingRanges[table] = hasMore && !isInOrder ? range : nil
        let isPassOver = !hasMore || (isInOrder && !isBeforeYoungRow)
        if isPassOver, passTimes[table] == time { finishedTimes[table] = time }
        if oldRows.isEmpty { return 0 }
        try file.write { transaction throws(StoreError) in
            try transaction.apply(oldRows, to: file.table(named: table))
        }
        return oldRows.count
    }
}
