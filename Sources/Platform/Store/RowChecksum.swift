internal import CCRC32C

/// The CRC-32C of a row's key and value, big-endian, stored before the value of every row. LMDB's format has
/// none. Without it, a byte that the disk changed would be served or be used as a length.
package enum RowChecksum {
    /// The size of a checksum.
    package static let byteCount = 4

    /// Returns the checksum. It includes the length of the key, so that a byte cannot move between key and
    /// value unnoticed.
    static func checksum(key: Span<UInt8>, value: Span<UInt8>) -> UInt32 {
        value.crc(from: key.crc(from: UInt32(truncatingIfNeeded: key.count)))
    }

    /// Writes the checksum and the value to a reusable buffer.
    static func write(key: Span<UInt8>, value: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.removeAll(keepingCapacity: true)
        append(key: key, value: value, to: &buffer)
    }

    /// Appends the checksum and the value.
    static func append(key: Span<UInt8>, value: Span<UInt8>, to buffer: inout [UInt8]) {
        let sum = checksum(key: key, value: value)
        unsafe withUnsafeBytes(of: sum.bigEndian) { unsafe buffer.append(contentsOf: $0) }
        unsafe value.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// Returns the stored checksum, right or wrong, or nil if it is missing.
    static func storedChecksum(in stored: Span<UInt8>) -> UInt32? {
        guard stored.count >= byteCount else { return nil }
        return unsafe stored.withUnsafeBytes { unsafe UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
    }

    /// Returns whether the value behind the stored checksum is the one that was written under this key.
    package static func isValid(key: Span<UInt8>, stored: Span<UInt8>) -> Bool {
        guard let storedChecksum = storedChecksum(in: stored) else { return false }
        return storedChecksum == checksum(key: key, value: stored.extracting(byteCount..<stored.count))
    }
}

extension Span<UInt8> {
    /// Continues a checksum over the bytes.
    func crc(from start: UInt32) -> UInt32 {
        unsafe withUnsafeBytes { unsafe crc32c_extend(start, $0.baseAddress, $0.count) }
    }
}
