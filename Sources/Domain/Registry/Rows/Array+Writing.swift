// Writing of the elements of keys and values. `Span+Reading.swift` reads them.

extension [UInt8] {
    init(_ span: Span<UInt8>) {
        self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }

    mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends the lowest `byteCount` bytes of a number, the highest of them first. Such bytes sort like the
    /// numbers, if none is negative.
    mutating func append(number: Int64, byteCount: Int) {
        let bigEndian = (UInt64(bitPattern: number) << (64 - 8 * UInt64(byteCount))).bigEndian
        unsafe Swift.withUnsafeBytes(of: bigEndian) {
            unsafe append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<byteCount]))
        }
    }

    /// Appends a length: seven bits in each byte, the lowest first. The high bit is set in all bytes but the
    /// last (LEB128).
    mutating func append(length: Int) {
        var remainingBits = length
        while remainingBits >= 0x80 {
            append(UInt8(truncatingIfNeeded: remainingBits) | 0x80)
            remainingBits >>= 7
        }
        append(UInt8(remainingBits))
    }

    /// Appends bytes with their length in front.
    mutating func append(counted bytes: UnsafeBufferPointer<UInt8>) {
        append(length: bytes.count)
        unsafe append(contentsOf: bytes)
    }

    /// Appends a text with its length in front.
    mutating func append(counted text: String) {
        append(length: text.utf8.count)
        append(contentsOf: text.utf8)
    }
}
