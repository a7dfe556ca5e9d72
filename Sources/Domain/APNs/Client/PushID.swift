internal import Identifiers

/// The `apns-id` of a push, a UUID. It identifies the push to Apple's support and in our receipts.
package struct PushID: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The length of the text form.
    package static let textBytes = 36

    /// Writes the canonical lower-case form, such as `8f14e45f-ceea-467f-9d5a-1f2b3c4d5e6f`, to the start of
    /// `text`.
    package func write(to text: UnsafeMutableRawBufferPointer) {
        let first = PushID.digits(of: high >> 32)
        let second = PushID.digits(of: high)
        let third = PushID.digits(of: low >> 32)
        let last = PushID.digits(of: low)
        unsafe text.storeBytes(of: first, as: UInt64.self)
        // The dashes are at 8, 13, 18 and 23, so the last eight digits begin at 28.
        unsafe PushID.write(second, to: text, at: 8)
        unsafe PushID.write(third, to: text, at: 18)
        unsafe text.storeBytes(of: last, toByteOffset: 28, as: UInt64.self)
    }

    /// Returns the eight digits of the lower half of the word.
    private static func digits(of word: UInt64) -> UInt64 {
        Hex.digits(of: UInt32(truncatingIfNeeded: word).bigEndian)
    }

    /// Writes a dash and four digits, twice: the eight digits of a word, such as `-ceea-467f`.
    private static func write(_ digits: UInt64, to text: UnsafeMutableRawBufferPointer, at start: Int) {
        let digits = UInt64(littleEndian: digits)
        let halves = (UInt32(truncatingIfNeeded: digits), UInt32(truncatingIfNeeded: digits >> 32))
        unsafe text[start] = UInt8(ascii: "-")
        unsafe text.storeBytes(of: halves.0.littleEndian, toByteOffset: start + 1, as: UInt32.self)
        unsafe text[start + 5] = UInt8(ascii: "-")
        unsafe text.storeBytes(of: halves.1.littleEndian, toByteOffset: start + 6, as: UInt32.self)
    }

    package var description: String {
        var bytes = [UInt8](repeating: 0, count: PushID.textBytes)
        unsafe bytes.withUnsafeMutableBytes { unsafe write(to: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
