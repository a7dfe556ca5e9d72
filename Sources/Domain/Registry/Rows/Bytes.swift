internal import Glibc

// Reading and writing of the elements of keys and values: big-endian numbers, which sort like numbers, and
// lengths in as few bytes as needed.

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

    /// Returns a negative number, zero or a positive number, like memcmp. A prefix sorts first.
    func order(to other: Span<UInt8>) -> Int {
        let common = Swift.min(count, other.count)
        let order: Int32 =
            common == 0
            ? 0
            : unsafe withUnsafeBufferPointer { a in
                unsafe other.withUnsafeBufferPointer { b in
                    unsafe memcmp(a.baseAddress!, b.baseAddress!, common)
                }
            }
        return order != 0 ? Int(order) : count - other.count
    }

    /// Reads a number of `bytes` bytes.
    func number(at start: Int, bytes: Int) -> Int64 {
        var value: UInt64 = 0
        for index in start..<start + bytes { value = value << 8 | UInt64(self[index]) }
        return Int64(bitPattern: value)
    }

    /// Reads a length and moves the offset behind it.
    func length(at offset: inout Int) -> Int {
        var value = 0
        var shift = 0
        while true {
            let byte = self[offset]
            offset += 1
            value |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// Reads bytes with a length prefix and moves the offset behind them.
    @_lifetime(copy self)
    func bytes(at offset: inout Int) -> Span<UInt8> {
        let count = length(at: &offset)
        let found = extracting(offset..<offset + count)
        offset += count
        return found
    }
}

extension [UInt8] {
    init(_ span: Span<UInt8>) {
        self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }

    mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    mutating func append(number: Int64, bytes: Int) {
        let shifted = (UInt64(bitPattern: number) << (64 - 8 * UInt64(bytes))).bigEndian
        unsafe Swift.withUnsafeBytes(of: shifted) {
            unsafe append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<bytes]))
        }
    }

    mutating func append(length: Int) {
        var rest = length
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func append(counted bytes: UnsafeBufferPointer<UInt8>) {
        append(length: bytes.count)
        unsafe append(contentsOf: bytes)
    }

    mutating func append(counted text: String) {
        append(length: text.utf8.count)
        append(contentsOf: text.utf8)
    }

    /// The first key behind all keys with this prefix, or nil if it does not exist.
    var firstKeyAfterPrefix: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xFF }) else { return nil }
        return Array(self[..<last]) + [self[last] + 1]
    }
}
