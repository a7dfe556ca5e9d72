internal import Glibc

// Comparisons of keys and values, in the order of unsigned bytes, like memcmp.

extension Span<UInt8> {
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBufferPointer { a in
            unsafe other.withUnsafeBufferPointer { b in
                unsafe a.isEmpty || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0
            }
        }
    }

    func hasPrefix(_ prefix: Span<UInt8>) -> Bool {
        count >= prefix.count && extracting(first: prefix.count).equals(prefix)
    }

    /// Returns a negative number if these bytes sort before the others, zero if both are equal, and a
    /// positive number otherwise. A prefix sorts first.
    func order(to other: Span<UInt8>) -> Int {
        let commonCount = Swift.min(count, other.count)
        let order: Int32 =
            commonCount == 0
            ? 0
            : unsafe withUnsafeBufferPointer { a in
                unsafe other.withUnsafeBufferPointer { b in
                    unsafe memcmp(a.baseAddress!, b.baseAddress!, commonCount)
                }
            }
        return order != 0 ? Int(order) : count - other.count
    }
}

extension [UInt8] {
    /// The first key behind all keys with this prefix. Nil if all bytes are 0xFF, because no key is behind
    /// those.
    var firstKeyAfterPrefix: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xFF }) else { return nil }
        return Array(self[..<last]) + [self[last] + 1]
    }
}
