internal import Glibc

/// Keys that a table has not: from one that was looked for up to the next one that is there. It holds for as long as
/// nothing is written to the table.
package struct KeyGap: Sendable {
    private let lower: [UInt8]
    /// Nil where nothing comes behind it.
    private let upper: [UInt8]?

    init(from lower: [UInt8], upTo upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    package func holds(_ key: Span<UInt8>) -> Bool {
        if key.order(to: lower.span) < 0 { return false }
        guard let upper else { return true }
        return key.order(to: upper.span) < 0
    }
}

extension Picture {
    /// - Returns: what is not there around the key; nil where the key is there.
    package func gap(at key: Span<UInt8>, in table: Table) throws(StoreError) -> KeyGap? {
        try Limits.check(key)
        let lower = key.array
        var upper: [UInt8]?
        var isWhole = true
        try scan(table, KeyRange(from: lower)) { next, stored in
            upper = next.array
            isWhole = RowCheck.holds(next, stored)
            return .stop
        }
        guard isWhole else { throw StoreError.changedRow(path) }
        return upper == lower ? nil : KeyGap(from: lower, upTo: upper)
    }
}

extension Span<UInt8> {
    /// Byte by byte, as a table orders its keys: negative where these bytes come first, 0 where both are the same.
    package func order(to other: Span<UInt8>) -> Int {
        let common = Swift.min(count, other.count)
        let order: Int32 = unsafe withUnsafeBytes { a in
            unsafe other.withUnsafeBytes { b in
                // An empty one has no address.
                guard let a = a.baseAddress, let b = b.baseAddress else { return 0 }
                return unsafe memcmp(a, b, common)
            }
        }
        return order != 0 ? Int(order) : count - other.count
    }

    /// A copy.
    fileprivate var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe [UInt8]($0) } }
}
