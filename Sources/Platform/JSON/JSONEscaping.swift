internal import CSimdJSON

/// The escaping of strings in JSON: `"` becomes `\"`. Quotes, backslashes and control characters are escaped,
/// and other bytes stay.
enum JSONEscaping {
    /// The largest number of bytes for one byte: a control character becomes `\u001f`.
    static let growthMax = 6
    /// The bytes behind the result that a write may change, because it writes sixteen at a time.
    static let overrunBytes = 16

    private static let hexDigits: StaticString = "0123456789abcdef"

    /// Writes the escaped bytes to `out` and returns their number. `out` must have space for `growthMax`
    /// times the bytes, and `overrunBytes` more.
    static func write(_ bytes: UnsafeRawBufferPointer, to out: UnsafeMutableRawPointer) -> Int {
        // Nearly all strings need no escape. If a byte needs one, the string is written again, byte by byte.
        if unsafe json_copy_plain(bytes.baseAddress, bytes.count, out) { return bytes.count }
        var written = 0
        for index in 0..<bytes.count { unsafe written += writeEscaped(bytes[index], to: out + written) }
        return written
    }

    static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var combinedBits: UInt8 = 0
        for offset in 0..<bytes.count { unsafe combinedBits |= bytes[offset] }
        return combinedBits < 0x80
    }

    /// Writes one byte as itself, as a backslash and a letter, or as `\u` and four digits. Returns the
    /// length.
    private static func writeEscaped(_ byte: UInt8, to out: UnsafeMutableRawPointer) -> Int {
        if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
            unsafe out.storeBytes(of: byte, as: UInt8.self)
            return 1
        }
        unsafe out.storeBytes(of: UInt8(ascii: "\\"), as: UInt8.self)
        if let letter = escapeLetter(for: byte) {
            unsafe out.storeBytes(of: letter, toByteOffset: 1, as: UInt8.self)
            return 2
        }
        unsafe out.storeBytes(of: UInt8(ascii: "u"), toByteOffset: 1, as: UInt8.self)
        unsafe out.storeBytes(of: UInt8(ascii: "0"), toByteOffset: 2, as: UInt8.self)
        unsafe out.storeBytes(of: UInt8(ascii: "0"), toByteOffset: 3, as: UInt8.self)
        unsafe out.storeBytes(of: hexDigits.utf8Start[Int(byte >> 4)], toByteOffset: 4, as: UInt8.self)
        unsafe out.storeBytes(of: hexDigits.utf8Start[Int(byte & 15)], toByteOffset: 5, as: UInt8.self)
        return 6
    }

    private static func escapeLetter(for byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
        case 0x08: UInt8(ascii: "b")
        case 0x09: UInt8(ascii: "t")
        case 0x0A: UInt8(ascii: "n")
        case 0x0C: UInt8(ascii: "f")
        case 0x0D: UInt8(ascii: "r")
        default: nil
        }
    }
}
