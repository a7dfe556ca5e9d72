/// The conversion of a 32-bit word to its eight lower-case hexadecimal digits, all at once in one 64-bit word.
enum HexWord {
    /// Returns the digits as ASCII, with the first digit in the highest byte.
    @inline(__always)
    static func digits(_ word: UInt32) -> UInt64 {
        // Spread one nibble into each byte.
        var digits = UInt64(word)
        digits = (digits << 16 | digits) & 0x0000_FFFF_0000_FFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        // A nibble of ten or more needs a letter. Adding six to it carries into its byte's fifth bit.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // 0x30 is "0".
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* letterDistance
    }

    /// The distance from the character behind "9" to "a".
    private static let letterDistance: UInt64 = 39
}
