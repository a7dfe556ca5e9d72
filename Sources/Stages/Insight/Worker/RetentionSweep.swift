internal import Kafka
internal import Store

/// Deletes old rows from the tables of a lane file, one page at a time. Each value starts with the time of its
/// newest part in milliseconds since 1970, in big-endian order.
struct RetentionSweep {
    /// The size of the time in front of each value.
    static let timeByteCount = 8

    /// Returns a stored value without the time in front of it. A value that is too short is damaged. It becomes empty, and
    /// cannot be decoded.
    static func valueWithoutTime(_ stored: Span<UInt8>) -> [UInt8] {
        [UInt8](copying: stored.extracting(droppingFirst: min(timeByteCount, stored.count)))
    }

    /// The rows of one page.
    private static let rowsMax = 500

    /// The time from the beginning of one pass through a table without order to the next. Such a pass reads every row.
    static let passIntervalMilliseconds: Int64 = 600_000

    // The state of the pass through each table, by the table's name.
    /// The keys that the pass has not read yet.
    private var remainingRanges: [String: KeyRange] = [:]
    /// The limit of the current pass: it began to delete the rows before this time.
    private var passLimits: [String: Int64] = [:]
    /// The limit of the last whole pass. A later pass finds only the rows that have become too old since.
    private var finishedLimits: [String: Int64] = [:]

    /// Deletes the old rows of the next page. After the last page of a table the next call starts again.
    ///
    /// - Parameters:
    ///   - isInOrder: Whether the rows are nearly in time order, with the oldest first.
    ///   - limit: The time before which a row is old, in milliseconds since 1970.
    mutating func deleteNextPage(
        of table: String, isInOrder: Bool, in file: StateFile, before limit: Int64
    ) throws(StoreError) -> DeletedRows {
        if remainingRanges[table] == nil {
            // A pass through rows in order ends at the first young row, so it is cheap. An interval of 1 ms only keeps
            // it from running twice for one limit.
            let interval = isInOrder ? 1 : Self.passIntervalMilliseconds
            if let finished = finishedLimits[table], limit < finished + interval { return DeletedRows() }
            passLimits[table] = limit
        }
        var oldRows = RowBatch()
        var range = remainingRanges[table] ?? .everything
        // False behind the first young row of a table in order. This row ends the pass.
        var isBeforeYoungRow = true
        let hasMore = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table), range: &range, rowsMax: Self.rowsMax) {
                key, stored in
                // The time is checked first, so that young rows are not read completely. A corrupt row is
                // left for its reader to report.
                guard isBeforeYoungRow, stored.count >= RowChecksum.byteCount + Self.timeByteCount,
                    BigEndian.number(in: stored, at: RowChecksum.byteCount) < UInt64(clamping: limit)
                else {
                    if isInOrder { isBeforeYoungRow = false }
                    return
                }
                guard RowChecksum.isValid(key: key, stored: stored) else { return }
                oldRows.remove(key)
            }
        }
        // A pass through a table in order begins at the first row again, because the rows before were deleted.
        remainingRanges[table] = hasMore && !isInOrder ? range : nil
        let isPassOver = !hasMore || (isInOrder && !isBeforeYoungRow)
        if isPassOver { finishedLimits[table] = passLimits[table] }
        let deleted = DeletedRows(count: oldRows.count, mayHaveMore: !isPassOver)
        if oldRows.isEmpty { return deleted }
        try file.write { transaction throws(StoreError) in
            try transaction.apply(oldRows, to: file.table(named: table))
        }
        return deleted
    }
}
