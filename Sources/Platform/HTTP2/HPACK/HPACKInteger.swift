/// Integers in HPACK (RFC 7541, 5.1): the low bits of a byte, followed by groups of seven bits.
enum HPACKInteger {
    /// The most bytes of an integer that this side writes.
    static let bytesMax = 6

    static func append(_ value: Int, prefixBits: Int, pattern: UInt8, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: bytesMax, alignment: 1) { room in
            let count = unsafe write(value, prefixBits: prefixBits, pattern: pattern, to: room.baseAddress!)
            unsafe bytes.append(contentsOf: room[..<count])
        }
    }

    /// Writes an integer and returns its length, at most `bytesMax`.
    static func write(
        _ value: Int, prefixBits: Int, pattern: UInt8, to bytes: UnsafeMutableRawPointer
    ) -> Int {
        let limit = 1 << prefixBits - 1
        guard value >= limit else {
            unsafe bytes.storeBytes(of: pattern | UInt8(value), as: UInt8.self)
            return 1
        }
        unsafe bytes.storeBytes(of: pattern | UInt8(limit), as: UInt8.self)
        var rest = value - limit
        var count = 1
        while rest >= 128 {
            unsafe bytes.storeBytes(of: UInt8(rest & 127) | 128, toByteOffset: count, as: UInt8.self)
            rest >>= 7
            count += 1
        }
        unsafe bytes.storeBytes(of: UInt8(rest), toByteOffset: count, as: UInt8.self)
        return count + 1
    }
}
