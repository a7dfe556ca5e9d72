internal import Store

/// A writer into empty tables, in key order, table by table. One transaction contains some thousands of rows.
struct LaneTableWriter: ~Copyable {
    private let lane: Lane
    private let rowsMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    private var table: Table?
    private var rows = RowBatch()

    init(lane: Lane, rowsMax: Int, retryPolicy patience: DiskFullRetryPolicy) {
        self.retryPolicy = patience
        self.lane = lane
        self.rowsMax = rowsMax
    }

    mutating func put(_ key: Span<UInt8>, value: Span<UInt8>, in wanted: Table) throws(StoreError) {
        if rows.count >= rowsMax || (table != wanted && !rows.isEmpty) { try flush() }
        table = wanted
        rows.putChecked(key, value: value)
    }

    mutating func flush() throws(StoreError) {
        guard let table, !rows.isEmpty else { return }
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
