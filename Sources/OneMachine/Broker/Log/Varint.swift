/// The signed variable-length numbers in records: seven bits in each byte, so that small magnitudes are
/// short.
enum Varint {
    static func append(_ value: Int64, to out: inout [UInt8]) {
        var left = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while left >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        out.append(UInt8(left))
    }

    /// Reads a number at `position` and advances it. Returns nil if the number is too long.
    static func read(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Int64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < bytes.count, shift < 64 {
            let byte = unsafe bytes[position]
            position += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return Int64(bitPattern: (value >> 1)) ^ -Int64(bitPattern: value & 1) }
            shift += 7
        }
        return nil
    }
}
