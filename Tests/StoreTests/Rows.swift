@testable import Store

/// Copies bytes that are valid only during a read.
func array(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

extension LMDBEnvironment {
    /// Returns the rows of a table in a range, each as its key and its value.
    func rows(of table: Table, range: KeyRange = .everything) throws(StoreError) -> [[[UInt8]]] {
        var rows: [[[UInt8]]] = []
        var isIntact = true
        try read { snapshot throws(StoreError) in
            try snapshot.scan(table, range: range) { key, stored in
                guard RowChecksum.isValid(key: key, stored: stored) else {
                    isIntact = false
                    return .stop
                }
                rows.append([array(key), array(stored.extracting(RowChecksum.byteCount..<stored.count))])
                return .next
            }
        }
        if !isIntact { throw .changedRow(path: path) }
        return rows
    }

    func put(_ key: [UInt8], value: [UInt8], in table: Table) throws(StoreError) {
        try write { transaction throws(StoreError) in
            try transaction.put(key.span, value: value.span, in: table)
        }
    }

    func value(of key: [UInt8], in table: Table) throws(StoreError) -> [UInt8]? {
        try read { snapshot throws(StoreError) in
            guard let value = try snapshot.value(of: key.span, in: table) else { return nil }
            return array(value)
        }
    }
}
