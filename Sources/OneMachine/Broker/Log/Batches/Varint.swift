/// The signed variable-length numbers in records (zigzag and LEB128). The sign is in the lowest bit. Then
/// come seven bits in each byte, the lowest first, and the high bit is set in all bytes but the last.
enum Varint {
    static func append(_ value: Int64, to bytes: inout [UInt8]) {
        var remainingBits = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while remainingBits >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: remainingBits) | 0x80)
            remainingBits >>= 7
        }
        bytes.append(UInt8(remainingBits))
    }

    /// Reads the number at `position` and moves `position` behind it. Returns nil if the number does not
    /// end within the bytes, or is too long.
    static func read(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Int64? {
        var zigzag: UInt64 = 0
        var shift: UInt64 = 0
        while position < bytes.count, shift < 64 {
            let byte = unsafe bytes[position]
            position += 1
            zigzag |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return Int64(bitPattern: (zigzag >> 1)) ^ -Int64(bitPattern: zigzag & 1) }
            shift += 7
        }
        return nil
    }
}
