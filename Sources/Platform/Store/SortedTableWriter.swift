/// A writer of rows into empty tables. The rows come table by table, in key order. It collects rows and
/// appends up to `rowsMax` of them in one transaction. The caller calls `flush` after the last row.
package struct SortedTableWriter: ~Copyable {
    private let file: StateFile
    private let rowsMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    /// The table of the collected rows.
    private var currentTable: Table?
    private var rows = RowBatch()

    package init(file: StateFile, rowsMax: Int, retryPolicy: DiskFullRetryPolicy) {
        self.retryPolicy = retryPolicy
        self.file = file
        self.rowsMax = rowsMax
    }

    package mutating func put(_ key: Span<UInt8>, value: Span<UInt8>, in table: Table) throws(StoreError) {
        let isOtherTable = currentTable != table && !rows.isEmpty
        if rows.count >= rowsMax || isOtherTable { try flush() }
        currentTable = table
        rows.putWithChecksum(key, value: value)
    }

    package mutating func flush() throws(StoreError) {
        guard let table = currentTable, !rows.isEmpty else { return }
        while true {
            do throws(StoreError) {
                try file.write { transaction throws(StoreError) in
                    try transaction.append(rows, to: table)
                }
                return rows.removeAll()
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
    }
}
