internal import Store

/// A writer into empty tables, in key order, table by table. One transaction contains some thousands of rows.
struct LaneOutput: ~Copyable {
    private let lane: Lane
    private let rowsMax: Int
    private let patience: Patience
    private var table: Table?
    private var rows = RowBatch()

    init(_ lane: Lane, rowsMax: Int, _ patience: Patience) {
        self.patience = patience
        self.lane = lane
        self.rowsMax = rowsMax
    }

    mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>, in wanted: Table) throws(StoreError) {
        if rows.count >= rowsMax || (table != wanted && !rows.isEmpty) { try flush() }
        table = wanted
        rows.putChecked(key, value)
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
                try patience.bear(error)
            }
        }
    }
}
