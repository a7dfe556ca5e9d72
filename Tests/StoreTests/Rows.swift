@testable import Store

/// Returns all rows of a table, for comparison.
func rows(_ environment: Environment, _ table: Table, _ range: KeyRange = .everything) throws(StoreError)
    -> [[[UInt8]]]
{
    var rows: [[[UInt8]]] = []
    var isWhole = true
    try environment.read { picture throws(StoreError) in
        try picture.scan(table, range) { key, stored in
            guard RowCheck.holds(key, stored) else {
                isWhole = false
                return .stop
            }
            rows.append([array(key), array(stored.extracting(RowCheck.bytes..<stored.count))])
            return .goOn
        }
    }
    if !isWhole { throw .changedRow(environment.path) }
    return rows
}

func array(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

extension Environment {
    func put(_ key: [UInt8], _ value: [UInt8], in table: Table) throws(StoreError) {
        try write { transaction throws(StoreError) in
            try transaction.put(key.span, value.span, in: table)
        }
    }

    func value(_ key: [UInt8], in table: Table) throws(StoreError) -> [UInt8]? {
        try read { picture throws(StoreError) in
            guard let value = try picture.value(of: key.span, in: table) else { return nil }
            return array(value)
        }
    }
}
