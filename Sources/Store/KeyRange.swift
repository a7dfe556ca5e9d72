/// The keys from `lower`, included, up to `upper`, excluded. A scan in pages advances `lower`, so a
/// range also says where a scan goes on: it can be kept, sent and resumed.
package struct KeyRange: Sendable, Hashable {
    package private(set) var lower: [UInt8]
    /// nil is the end of the table.
    package let upper: [UInt8]?

    package init(from lower: [UInt8] = [], upTo upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key that begins with these bytes.
    package init(prefix: [UInt8]) {
        lower = prefix
        if let last = prefix.lastIndex(where: { $0 != 0xFF }) {
            upper = Array(prefix[..<last]) + [prefix[last] + 1]
        } else {
            upper = nil
        }
    }

    package static let everything = KeyRange()

    /// Leaves only what lies behind the key: its successor is the key and a zero byte.
    package mutating func advance(behind key: Span<UInt8>) {
        lower.removeAll(keepingCapacity: true)
        lower.reserveCapacity(key.count + 1)
        for i in key.indices { lower.append(key[i]) }
        lower.append(0)
    }
}
