internal import Glibc

/// A range of keys that a table does not have: from a searched key up to the next existing one. A caller that
/// searches many neighboring keys keeps it and saves lookups. It is valid until the table is written.
package struct KeyGap: Sendable {
    private let lower: [UInt8]
    /// Nil if no key follows.
    private let upper: [UInt8]?

    init(from lower: [UInt8], upTo upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    package func contains(_ key: Span<UInt8>) -> Bool {
        if key.compare(to: lower.span) < 0 { return false }
        guard let upper else { return true }
        return key.compare(to: upper.span) < 0
    }
}

extension ReadSnapshot {
    /// Returns the gap that begins at the key, or nil if the key exists.
    package func keyGap(at key: Span<UInt8>, in table: Table) throws(StoreError) -> KeyGap? {
        try EnvironmentLimits.checkKeySize(of: key)
        let lower = key.array
        var upper: [UInt8]?
        var isIntact = true
        try scan(table, range: KeyRange(from: lower)) { next, stored in
            upper = next.array
            isIntact = RowChecksum.isValid(key: next, stored: stored)
            return .stop
        }
        guard isIntact else { throw StoreError.changedRow(path: path) }
        return upper == lower ? nil : KeyGap(from: lower, upTo: upper)
    }
}

extension Span<UInt8> {
    /// Compares bytes in the order of table keys. The result is negative if these bytes come first, and 0 if
    /// both are equal.
    package func compare(to other: Span<UInt8>) -> Int {
        let common = Swift.min(count, other.count)
        let order: Int32 = unsafe withUnsafeBytes { a in
            unsafe other.withUnsafeBytes { b in
                // An empty span has no address.
                guard let a = a.baseAddress, let b = b.baseAddress else { return 0 }
                return unsafe memcmp(a, b, common)
            }
        }
        return order != 0 ? Int(order) : count - other.count
    }

    /// A copy.
    fileprivate var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe [UInt8]($0) } }
}
