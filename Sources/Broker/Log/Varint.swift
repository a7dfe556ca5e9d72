/// The signed variable-length numbers inside records: seven bits a byte, small magnitudes short.
enum Varint {
    static func append(_ value: Int64, to out: inout [UInt8]) {
        var left = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while left >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        out.append(UInt8(left))
    }

    /// Reads one at `position` and moves it on; nil if it does not end in time.
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
