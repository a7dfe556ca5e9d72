internal import CCRC32C

/// A checksum over a row's key and value, stored before the value of every row. LMDB's format has none.
/// Without it, a byte that the disk changed would be served or be used as a length.
package enum RowCheck {
    package static let bytes = 4

    /// Returns the checksum. It includes the length of the key, so that a byte cannot move between key and
    /// value unnoticed.
    static func sum(_ key: Span<UInt8>, _ value: Span<UInt8>) -> UInt32 {
        value.crc(from: key.crc(from: UInt32(truncatingIfNeeded: key.count)))
    }

    /// Writes the checksum and the value to a reusable buffer.
    static func write(_ key: Span<UInt8>, _ value: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.removeAll(keepingCapacity: true)
        append(key, value, to: &buffer)
    }

    static func append(_ key: Span<UInt8>, _ value: Span<UInt8>, to buffer: inout [UInt8]) {
        let sum = sum(key, value)
        unsafe withUnsafeBytes(of: sum.bigEndian) { unsafe buffer.append(contentsOf: $0) }
        unsafe value.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// Returns the stored checksum, right or wrong, or nil if it is missing.
    static func sum(of stored: Span<UInt8>) -> UInt32? {
        guard stored.count >= bytes else { return nil }
        return unsafe stored.withUnsafeBytes { unsafe UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
    }

    /// Whether the value `stored[bytes...]` is the one that was written under this key.
    package static func holds(_ key: Span<UInt8>, _ stored: Span<UInt8>) -> Bool {
        guard let found = sum(of: stored) else { return false }
        return found == sum(key, stored.extracting(bytes..<stored.count))
    }
}

extension Span<UInt8> {
    /// Continues a checksum over the bytes.
    func crc(from start: UInt32) -> UInt32 {
        unsafe withUnsafeBytes { unsafe crc32c_extend(start, $0.baseAddress, $0.count) }
    }
}
