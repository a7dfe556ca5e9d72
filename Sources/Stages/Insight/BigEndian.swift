/// Writes and reads the numbers in keys and rows of this stage's files, highest byte first. So the bytes of
/// numbers that are not negative sort like the numbers.
enum BigEndian {
    static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Returns the number in the eight bytes from `start` on. The caller ensures that they exist.
    static func number(in bytes: Span<UInt8>, at start: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in start..<start + 8 { number = number << 8 | UInt64(bytes[index]) }
        return number
    }
}
