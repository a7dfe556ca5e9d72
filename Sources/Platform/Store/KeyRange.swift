/// The keys from `lower` inclusive to `upper` exclusive. A scan in pages advances `lower`, so the range is
/// also the position of the scan. It can be kept, sent and resumed.
package struct KeyRange: Sendable, Hashable {
    package private(set) var lower: [UInt8]
    /// Nil means the end of the table.
    package let upper: [UInt8]?

    package init(from lower: [UInt8] = [], upTo upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key with this prefix.
    package init(prefix: [UInt8]) {
        lower = prefix
        upper = prefix.firstKeyAfterPrefix
    }

    package static let everything = KeyRange()

    /// Keeps only the keys behind `key`. Its successor is the key with a zero byte appended.
    package mutating func advance(past key: Span<UInt8>) {
        lower.removeAll(keepingCapacity: true)
        lower.reserveCapacity(key.count + 1)
        for index in key.indices { lower.append(key[index]) }
        lower.append(0)
    }
}

extension [UInt8] {
    /// The first key behind all keys with this prefix: the prefix up to its last byte below 0xFF, with that byte raised
    /// by one. Nil if all bytes are 0xFF, because no key is behind those.
    package var firstKeyAfterPrefix: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xFF }) else { return nil }
        return Array(self[..<last]) + [self[last] + 1]
    }
}
