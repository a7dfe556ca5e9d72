/// Decimal digits of whole numbers, written eight at a time.
enum DecimalDigits {
    /// The bytes that a write may touch. A number has at most twenty digits, but whole words are written.
    static let bufferBytes = 32

    /// Writes the digits to `out`, which must have `room` bytes, and returns their count.
    static func write(_ value: UInt64, to out: UnsafeMutableRawPointer) -> Int {
        if value < 100_000_000 { return unsafe writeFirst(eightDigits(of: value), to: out) }
        let upper = value / 100_000_000
        let lower = eightDigits(of: value &- upper &* 100_000_000)
        let length =
            unsafe upper < 100_000_000 ? writeFirst(eightDigits(of: upper), to: out) : write(upper, to: out)
        unsafe out.storeBytes(of: lower.littleEndian, toByteOffset: length, as: UInt64.self)
        return length &+ 8
    }

    /// Writes up to eight digits without leading zeros.
    @inline(always)
    private static func writeFirst(_ digits: UInt64, to out: UnsafeMutableRawPointer) -> Int {
        // The mask keeps the last digit, also if it is zero.
        let zeros = (digits ^ 0x3030_3030_3030_3030 | 1 &<< 56).trailingZeroBitCount &>> 3
        unsafe out.storeBytes(of: (digits &>> UInt64(8 &* zeros)).littleEndian, as: UInt64.self)
        return 8 &- zeros
    }

    /// Returns all eight digits of a number with at most eight digits, the first digit in the lowest byte.
    /// The number is split within one word into numbers of four digits, then two, then one. The
    /// multiplications are exact divisions by 10,000, 100 and 10 for these ranges.
    @inline(always)
    private static func eightDigits(of value: UInt64) -> UInt64 {
        let upper = value / 10_000
        let fours = upper | (value &- upper &* 10_000) << 32
        let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) << 16
        let tens = (twos &* 103) >> 10 & 0x000F_000F_000F_000F
        return (tens | (twos &- tens &* 10) << 8) | 0x3030_3030_3030_3030
    }
}
