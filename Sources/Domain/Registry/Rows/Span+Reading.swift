// Reading of the elements of keys and values. `Array+Writing.swift` writes them.

extension Span<UInt8> {
    /// Reads a big-endian number of `byteCount` bytes.
    func number(at start: Int, byteCount: Int) -> Int64 {
        var number: UInt64 = 0
        for index in start..<start + byteCount { number = number << 8 | UInt64(self[index]) }
        return Int64(bitPattern: number)
    }

    /// Reads a length and moves the offset behind it. A length has seven bits in each byte, the lowest first.
    /// The high bit is set in all bytes but the last (LEB128).
    func readLength(at offset: inout Int) -> Int {
        var length = 0
        var shift = 0
        while true {
            let byte = self[offset]
            offset += 1
            length |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return length }
            shift += 7
        }
    }

    /// Reads bytes that have their length in front, and moves the offset behind them.
    @_lifetime(copy self)
    func readCountedBytes(at offset: inout Int) -> Span<UInt8> {
        let count = readLength(at: &offset)
        let bytes = extracting(offset..<offset + count)
        offset += count
        return bytes
    }
}
