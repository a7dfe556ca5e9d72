internal import LiveActivity

/// Hexadecimal digits two at a time, by table: every row of a page has some hundred of them.
enum HexPairs {
    private static let lower = table(isUpper: false)
    private static let upper = table(isUpper: true)

    static func table(_ isUpper: Bool) -> [UInt16] { isUpper ? upper : lower }

    static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let start = text.count
        let table = lower
        appendRoom(2 * bytes.count, to: &text)
        unsafe text.withUnsafeMutableBytes { text in
            for index in bytes.indices {
                unsafe text.storeBytes(
                    of: table[Int(bytes[index])], toByteOffset: start + 2 * index, as: UInt16.self)
            }
        }
    }

    private static func appendRoom(_ count: Int, to bytes: inout [UInt8]) {
        if count <= room.count { return bytes.append(contentsOf: room[..<count]) }
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    private static let room = [UInt8](repeating: 0, count: 256)

    /// Appends what the digits mean; false, and what was appended is worth nothing, when these are not
    /// digits in pairs, or capital ones where only small ones read back as the same text.
    static func read(_ digits: Span<UInt8>, isLower: Bool, to value: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        let start = value.count
        appendRoom(digits.count / 2, to: &value)
        // Bits that only a byte that is no digit has.
        var seen: UInt8 = 0
        let table = isLower ? lowerValues : values
        var out = value.mutableSpan
        for index in 0..<digits.count / 2 {
            let (high, low) = (table[Int(digits[2 * index])], table[Int(digits[2 * index + 1])])
            seen |= high | low
            out[start + index] = high << 4 | low
        }
        return seen < 16
    }

    /// What each digit means, 0x80 for what is none.
    static let values = (0...255).map { Hex.value(UInt8($0)) ?? 0x80 }
    private static let lowerValues = (0...255).map {
        (0x41...0x46).contains($0) ? 0x80 : Hex.value(UInt8($0)) ?? 0x80
    }

    private static func table(isUpper: Bool) -> [UInt16] {
        func digit(_ value: UInt8) -> UInt16 {
            let digit = Hex.digit(value)
            return UInt16(isUpper && digit > 0x39 ? digit - 0x20 : digit)
        }
        return (0...255).map { UInt16(littleEndian: digit($0 >> 4) | digit($0 & 15) << 8) }
    }
}
