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
}
