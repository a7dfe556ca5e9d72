/// The eight lower-case hexadecimal digits of a 32-bit word, computed at once.
enum HexWord {
    /// Returns the digits as ASCII, with the first digit in the highest byte.
    @inline(__always)
    static func digits(_ word: UInt32) -> UInt64 {
        // Spread one nibble into each byte.
        var digits = UInt64(word)
        digits = (digits << 16 | digits) & 0x0000_FFFF_0000_FFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        // Adding six carries into the next bit if the nibble is ten or more, which needs a letter.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* letterDistance
    }

    /// The distance from the character behind "9" to "a".
    private static let letterDistance: UInt64 = 39
}
