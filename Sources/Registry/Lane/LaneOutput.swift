internal import Store

/// Writes rows that come in order, table by table, some thousands in a transaction.
struct LaneOutput: ~Copyable {
    private let lane: Lane
    private let rowsMax: Int
    private var table: Table?
    private var rows = RowBatch()

    init(_ lane: Lane, rowsMax: Int) {
        self.lane = lane
        self.rowsMax = rowsMax
    }

    mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>, in wanted: Table) throws(StoreError) {
        if rows.count >= rowsMax || (table != wanted && !rows.isEmpty) { try flush() }
        table = wanted
        rows.put(key, value)
    }

    mutating func flush() throws(StoreError) {
        guard let table, !rows.isEmpty else { return }
        try lane.file.write { transaction throws(StoreError) in try transaction.apply(rows, to: table) }
        rows.removeAll()
    }
}
