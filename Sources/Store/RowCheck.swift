internal import CCRC32C

/// A sum over a row's key and value that stands before the value in the file, for every row. The file's own
/// format has none: without it, a byte that the disk changed would be served, or would say how long
/// something is.
package enum RowCheck {
    package static let bytes = 4

    /// The key's length is in it, so that the two cannot lend bytes to each other.
    static func sum(_ key: Span<UInt8>, _ value: Span<UInt8>) -> UInt32 {
        value.crc(from: key.crc(from: UInt32(truncatingIfNeeded: key.count)))
    }

    /// The value with its sum before it, in a buffer that is used again.
    static func write(_ key: Span<UInt8>, _ value: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.removeAll(keepingCapacity: true)
        append(key, value, to: &buffer)
    }

    static func append(_ key: Span<UInt8>, _ value: Span<UInt8>, to buffer: inout [UInt8]) {
        let sum = sum(key, value)
        unsafe withUnsafeBytes(of: sum.bigEndian) { unsafe buffer.append(contentsOf: $0) }
        unsafe value.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// The sum that stands before a value, right or wrong; nil when there is none.
    static func sum(of stored: Span<UInt8>) -> UInt32? {
        guard stored.count >= bytes else { return nil }
        return unsafe stored.withUnsafeBytes { unsafe UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
    }

    /// Whether the value behind the sum, `stored[bytes...]`, is what was written under this key.
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
