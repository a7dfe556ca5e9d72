@testable import Store

/// Copies bytes that are valid only during a read.
func array(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

/// A row of a table, with its value without the checksum.
struct StoredRow: Equatable {
    let key: [UInt8]
    let value: [UInt8]
}

extension LMDBEnvironment {
    /// Returns the rows of a table in a range, in the order of their keys. Throws if a row has a wrong checksum.
    func rows(of table: Table, range: KeyRange = .everything) throws(StoreError) -> [StoredRow] {
        var rows: [StoredRow] = []
        var isIntact = true
        try read { snapshot throws(StoreError) in
            try snapshot.scan(table, range: range) { key, stored in
                guard RowChecksum.isValid(key: key, stored: stored) else {
                    isIntact = false
                    return .stop
                }
                let value = array(stored.extracting(RowChecksum.byteCount..<stored.count))
                rows.append(StoredRow(key: array(key), value: value))
                return .next
            }
        }
        if !isIntact { throw .changedRow(path: path) }
        return rows
    }

    /// Writes one row in its own transaction.
    func put(_ key: [UInt8], value: [UInt8], in table: Table) throws(StoreError) {
        try write { transaction throws(StoreError) in
            try transaction.put(key.span, value: value.span, in: table)
        }
    }

    /// Returns the value of a row, nil if there is no such row.
    func value(of key: [UInt8], in table: Table) throws(StoreError) -> [UInt8]? {
        try read { snapshot throws(StoreError) in
            guard let value = try snapshot.value(of: key.span, in: table) else { return nil }
            return array(value)
        }
    }
}
