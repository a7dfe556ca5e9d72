/// Ids made of random bits from the caller.
enum RandomID {
    /// Returns a version 4 UUID in its usual notation.
    static func uuid(high: UInt64, low: UInt64) -> String {
        let high = high & 0xffff_ffff_ffff_0fff | 0x4000
        let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        let digits = hex(high) + hex(low)
        var out = ""
        for (index, digit) in digits.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { out.append("-") }
            out.append(digit)
        }
        return out
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
