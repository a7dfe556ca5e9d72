internal import Glibc

/// Parsing of short texts in place. Nothing here allocates or traps on a client's bytes.
enum ASCIIText {
    static func isEqual(_ bytes: Span<UInt8>, to text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
        }
    }

    static func isEqual(_ bytes: Span<UInt8>, ignoringCase lowercase: StaticString) -> Bool {
        guard bytes.count == lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where unsafe lowercased(bytes[index]) != lowercase.utf8Start[index] {
            return false
        }
        return true
    }

    static func isEqual(_ bytes: Span<UInt8>, to other: [UInt8]) -> Bool {
        guard bytes.count == other.count else { return false }
        return unsafe bytes.withUnsafeBytes { a in
            unsafe other.withUnsafeBytes { b in
                // A missing address means that both are empty.
                guard let a = a.baseAddress, let b = b.baseAddress else { return true }
                return unsafe memcmp(a, b, other.count) == 0
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

    /// Returns a whole number without sign, or nil for any other text or more than 18 digits.
    static func wholeNumber(in bytes: Span<UInt8>) -> Int64? {
        guard (1...18).contains(bytes.count) else { return nil }
        var value: Int64 = 0
        for index in 0..<bytes.count {
            guard (0x30...0x39).contains(bytes[index]) else { return nil }
            value = value * 10 + Int64(bytes[index] - 0x30)
        }
        return value
    }

    static func contains(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe memchr(start, Int32(byte), bytes.count) != nil
        }
    }

    /// Whether the text has only letters, digits, dots and dashes, like a bundle id.
    static func isBundleID(_ bytes: Span<UInt8>) -> Bool {
        guard (1...255).contains(bytes.count) else { return false }
        for index in 0..<bytes.count {
            switch lowercased(bytes[index]) {
            case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E: continue
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

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
