internal import Glibc

/// Functions on ASCII texts in the bytes of a request: compare, parse and copy. Only `string(from:)` and
/// `array(from:)` allocate. No function traps on a client's bytes.
enum ASCIIText {
    static func isEqual(_ bytes: Span<UInt8>, to text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
        }
    }

    /// Whether the texts are equal except for upper and lower case. The second text must be lower-case.
    static func isEqual(_ bytes: Span<UInt8>, ignoringCase lowercase: StaticString) -> Bool {
        guard bytes.count == lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where unsafe lowercased(bytes[index]) != lowercase.utf8Start[index] {
            return false
        }
        return true
    }

    static func isEqual(_ bytes: Span<UInt8>, to other: [UInt8]) -> Bool {
        guard bytes.count == other.count else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                // A missing address means that both are empty.
                guard let start = bytes.baseAddress, let otherStart = other.baseAddress else { return true }
                return unsafe memcmp(start, otherStart, other.count) == 0
            }
        }
    }

    static func starts(_ bytes: Span<UInt8>, with text: StaticString) -> Bool {
        bytes.count >= text.utf8CodeUnitCount
            && isEqual(bytes.extracting(first: text.utf8CodeUnitCount), to: text)
    }

    static func ends(_ bytes: Span<UInt8>, with text: StaticString) -> Bool {
        bytes.count >= text.utf8CodeUnitCount
            && isEqual(bytes.extracting(last: text.utf8CodeUnitCount), to: text)
    }

    /// Number of decimal digits that always fit into an `Int64`.
    private static var numberDigitsMax: Int { 18 }
    /// Limit on the length of a bundle id.
    private static var bundleIDBytesMax: Int { 255 }

    /// Returns a whole number without sign, or nil for any other text or more than 18 digits.
    static func wholeNumber(in bytes: Span<UInt8>) -> Int64? {
        guard (1...numberDigitsMax).contains(bytes.count) else { return nil }
        var value: Int64 = 0
        for index in 0..<bytes.count {
            guard digits.contains(bytes[index]) else { return nil }
            value = value * 10 + Int64(bytes[index] - digits.lowerBound)
        }
        return value
    }

    static func contains(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe memchr(start, Int32(byte), bytes.count) != nil
        }
    }

    /// Whether the text has the form of a bundle id: only letters, digits, dots and dashes.
    static func isBundleID(_ bytes: Span<UInt8>) -> Bool {
        guard (1...bundleIDBytesMax).contains(bytes.count) else { return false }
        for index in 0..<bytes.count {
            switch lowercased(bytes[index]) {
            case digits, UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."): continue
            default: return false
            }
        }
        return true
    }

    static func string(from bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    static func array(from bytes: Span<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    private static var digits: ClosedRange<UInt8> { UInt8(ascii: "0")...UInt8(ascii: "9") }

    /// With the bit 0x20, a capital letter of ASCII becomes its lower-case letter.
    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
