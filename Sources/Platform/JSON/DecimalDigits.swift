/// The decimal text of whole numbers, such as `1234`. Eight digits are one word of eight bytes, so that they
/// are computed and written together.
enum DecimalDigits {
    /// The space that a write needs. A number has at most twenty digits, but whole words of eight are
    /// written.
    static let bufferBytes = 32

    /// Writes the digits to `out`, which must have `bufferBytes` bytes, and returns their count.
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
        // Without the codes of "0", leading zeros are zero bytes. The added bit is in the last digit, which is
        // written even if it is zero.
        let values = digits ^ zeroDigits
        let leadingZeros = (values | (1 &<< 56)).trailingZeroBitCount &>> 3
        unsafe out.storeBytes(of: (digits &>> UInt64(8 &* leadingZeros)).littleEndian, as: UInt64.self)
        return 8 &- leadingZeros
    }

    /// Returns all eight digits of a number with at most eight digits, with leading zeros, as ASCII codes.
    /// The first digit is in the lowest byte.
    ///
    /// The word holds two numbers of four digits, then four of two digits, then eight of one digit. Each step
    /// computes on all of them at once. To divide, it multiplies and shifts, which is exact for numbers of
    /// this size.
    @inline(always)
    private static func eightDigits(of value: UInt64) -> UInt64 {
        let upper = value / 10_000
        let fours = upper | (value &- upper &* 10_000) << 32
        // Division by 100: n * 10,486 / 2^20.
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) << 16
        // Division by 10: n * 103 / 2^10.
        let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
        return (tens | (twos &- tens &* 10) << 8) | zeroDigits
    }

    /// Eight times the ASCII code of "0".
    @inline(always)
    private static var zeroDigits: UInt64 { 0x3030_3030_3030_3030 }
}
