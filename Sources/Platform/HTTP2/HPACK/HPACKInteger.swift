/// The encoding of integers in HPACK (RFC 7541, 5.1). The low `prefixBits` of the first byte hold a small
/// integer. If these bits are all 1, groups of seven bits follow, the lowest first. `pattern` has the other
/// bits of the first byte.
enum HPACKInteger {
    /// The longest encoding that this side writes.
    static let bytesMax = 6

    static func append(_ value: Int, prefixBits: Int, pattern: UInt8, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: bytesMax, alignment: 1) { buffer in
            let count = unsafe write(value, prefixBits: prefixBits, pattern: pattern, to: buffer.baseAddress!)
            unsafe bytes.append(contentsOf: buffer[..<count])
        }
    }

    /// Writes an integer and returns its length, at most `bytesMax`.
    static func write(
        _ value: Int, prefixBits: Int, pattern: UInt8, to bytes: UnsafeMutableRawPointer
    ) -> Int {
        let prefixMax = (1 << prefixBits) - 1
        guard value >= prefixMax else {
            unsafe bytes.storeBytes(of: pattern | UInt8(value), as: UInt8.self)
            return 1
        }
        unsafe bytes.storeBytes(of: pattern | UInt8(prefixMax), as: UInt8.self)
        var remaining = value - prefixMax
        var count = 1
        while remaining >= 128 {
            unsafe bytes.storeBytes(of: UInt8(remaining & 127) | 128, toByteOffset: count, as: UInt8.self)
            remaining >>= 7
            count += 1
        }
        unsafe bytes.storeBytes(of: UInt8(remaining), toByteOffset: count, as: UInt8.self)
        return count + 1
    }
}
