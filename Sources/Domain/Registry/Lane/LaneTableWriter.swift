internal import Store

/// A writer of rows into empty tables. The rows come table by table, in key order. It collects rows and
/// appends up to `rowsMax` of them in one transaction. The caller calls `flush` after the last row.
struct LaneTableWriter: ~Copyable {
    private let lane: Lane
    private let rowsMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    /// The table of the collected rows.
    private var currentTable: Table?
    private var rows = RowBatch()

    init(lane: Lane, rowsMax: Int, retryPolicy: DiskFullRetryPolicy) {
        self.retryPolicy = retryPolicy
        self.lane = lane
        self.rowsMax = rowsMax
    }

    mutating func put(_ key: Span<UInt8>, value: Span<UInt8>, in table: Table) throws(StoreError) {
        let isOtherTable = currentTable != table && !rows.isEmpty
        if rows.count >= rowsMax || isOtherTable { try flush() }
        currentTable = table
        rows.putWithChecksum(key, value: value)
    }

    mutating func flush() throws(StoreError) {
        guard let table = currentTable, !rows.isEmpty else { return }
        while true {
            do throws(StoreError) {
                try lane.file.write { transaction throws(StoreError) in
                    try transaction.append(rows, to: table)
                }
                return rows.removeAll()
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
    }
}
