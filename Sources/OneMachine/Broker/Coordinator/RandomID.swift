/// Ids made of random bits from the caller.
enum RandomID {
    /// The numbers of hexadecimal digits in front of the hyphens of a UUID.
    private static let hyphenIndexes: Set = [8, 12, 16, 20]

    /// Returns a version 4 UUID in its usual notation, such as `0f8fad5b-d9cb-469f-a165-70867728950e`.
    static func uuid(high: UInt64, low: UInt64) -> String {
        // The version and the variant have fixed bits.
        let high = high & 0xffff_ffff_ffff_0fff | 0x4000
        let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        let digits = hex(high) + hex(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if hyphenIndexes.contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
