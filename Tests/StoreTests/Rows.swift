@testable import Store

/// All rows of a table, for comparison.
func rows(_ environment: Environment, _ table: Table, _ range: KeyRange = .everything) throws(StoreError)
    -> [[[UInt8]]]
{
    var rows: [[[UInt8]]] = []
    try environment.read { view throws(StoreError) in
        try view.scan(table, range) { key, value in
            rows.append([array(key), array(value)])
            return .goOn
        }
    }
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
        try read { view throws(StoreError) in
            guard let value = try view.value(of: key.span, in: table) else { return nil }
            return array(value)
        }
    }
}
