@testable import Store

/// Returns all rows of a table, for comparison.
func rows(_ environment: LMDBEnvironment, _ table: Table, _ range: KeyRange = .everything) throws(StoreError)
    -> [[[UInt8]]]
{
    var rows: [[[UInt8]]] = []
    var isWhole = true
    try environment.read { picture throws(StoreError) in
        try picture.scan(table, range: range) { key, stored in
            guard RowChecksum.isValid(key: key, stored: stored) else {
                isWhole = false
                return .stop
            }
            rows.append([array(key), array(stored.extracting(RowChecksum.byteCount..<stored.count))])
            return .next
        }
    }
    if !isWhole { throw .changedRow(path: environment.path) }
    return rows
}

func array(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

extension LMDBEnvironment {
    func put(_ key: [UInt8], _ value: [UInt8], in table: Table) throws(StoreError) {
        try write { transaction throws(StoreError) in
            try transaction.put(key.span, value: value.span, in: table)
        }
    }

    func value(_ key: [UInt8], in table: Table) throws(StoreError) -> [UInt8]? {
        try read { picture throws(StoreError) in
            guard let value = try picture.value(of: key.span, in: table) else { return nil }
            return array(value)
        }
    }
}
