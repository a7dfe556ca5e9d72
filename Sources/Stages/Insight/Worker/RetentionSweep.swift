internal import Store

/// The removal of old rows from the tables of a file, one page at a time. Each value starts with the time of
/// its newest part in milliseconds since 1970.
struct RetentionSweep {
    static let timeBytes = 8
    /// The rows of one page.
    private static let rowsMax = 500

    private var remainingRanges: [String: KeyRange] = [:]
    /// The time with which the present pass through a table began.
    private var passTimes: [String: Int64] = [:]
    /// The time for which a whole pass through a table is over. The time stands still in a lane without new
    /// records, and further passes would find nothing and keep the file open.
    private var finishedTimes: [String: Int64] = [:]

    /// Removes the old rows of the next page. At the end of a table the next call starts again.
    ///
    /// - Parameter isInOrder: Whether the rows are nearly in time order, with the oldest first.
    /// - Returns: The number of removed rows.
    mutating func deleteNextPage(
        of table: String, isInOrder: Bool, in file: StateFile, before time: Int64
    ) throws(StoreError) -> Int {
        if finishedTimes[table] == time { return 0 }
        if remainingRanges[table] == nil { passTimes[table] = time }
        var old = RowBatch()
        var range = remainingRanges[table] ?? .everything
        var isOld = true
        let more = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table), range: &range, rowsMax: Self.rowsMax) {
                key, stored in
                // The time is checked first, so that young rows are not read completely. A corrupt row is
                // left for its reader to report.
                guard isOld, stored.count >= RowChecksum.byteCount + Self.timeBytes,
                    BigEndian.number(in: stored, at: RowChecksum.byteCount) < UInt64(clamping: time)
                else {
                    isOld = isOld && !isInOrder
                    return
                }
                guard RowChecksum.isValid(key: key, stored: stored) else { return }
                old.remove(key)
            }
        }
        remainingRanges[table] = more && !isInOrder ? range : nil
        if !more || (isInOrder && !isOld), passTimes[table] == time { finishedTimes[table] = time }
        if old.isEmpty { return 0 }
        try file.write { transaction throws(StoreError) in
            try transaction.apply(old, to: file.table(named: table))
        }
        return old.count
    }
}
