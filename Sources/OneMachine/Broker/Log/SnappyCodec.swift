/// Snappy, decoding only: the raw block format, and the framing of snappy-java ("xerial") that
/// Kafka's Java clients put around it.
enum SnappyCodec {
    private static let framed: [UInt8] = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]

    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        guard unsafe bytes.starts(with: framed) else {
            var out: [UInt8] = []
            return unsafe decompressBlock(bytes, into: &out, max: max) ? out : nil
        }
        var out: [UInt8] = []
        // The magic, a version and the oldest compatible version.
        var position = 16
        while position < bytes.count {
            guard bytes.count - position >= 4 else { return nil }
            let length: Int32 = unsafe bytes.big(at: position)
            position += 4
            guard length >= 0, Int(length) <= bytes.count - position else { return nil }
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(length)])
            guard unsafe decompressBlock(part, into: &out, max: max) else { return nil }
            position += Int(length)
        }
        return out
    }

    /// Appends the content of one block. Returns false if the block is damaged.
    private static func decompressBlock(_ bytes: UnsafeRawBufferPointer, into out: inout [UInt8], max: Int)
        -> Bool
    {
        var position = 0
        guard let length = unsafe readLength(in: bytes, at: &position), length <= max - out.count else {
            return false
        }
        let start = out.count
        let end = start + length
        out.reserveCapacity(end)
        while position < bytes.count {
            let tag = unsafe bytes[position]
            position += 1
            if tag & 3 == 0 {
                guard let count = unsafe literalLength(in: bytes, tag: tag, at: &position),
                    count <= bytes.count - position, count <= end - out.count
                else { return false }
                unsafe out.append(contentsOf: bytes[position..<position + count])
                position += count
            } else {
                guard let copy = unsafe readCopy(in: bytes, tag: tag, at: &position), copy.offset > 0,
                    copy.offset <= out.count - start, copy.count <= end - out.count
                else { return false }
                // Byte by byte: a copy may read what it has just written.
                for _ in 0..<copy.count { out.append(out[out.count - copy.offset]) }
            }
        }
        return out.count == end
    }

    private static func readLength(in bytes: UnsafeRawBufferPointer, at position: inout Int) -> Int? {
        var value = 0
        var shift = 0
        while position < bytes.count, shift < 35 {
            let byte = unsafe bytes[position]
            position += 1
            value |= Int(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    private static func literalLength(
        in bytes: UnsafeRawBufferPointer, tag: UInt8, at position: inout Int
    ) -> Int? {
        let short = Int(tag >> 2)
        guard short >= 60 else { return short + 1 }
        return unsafe readLittleEndian(in: bytes, count: short - 59, at: &position).map { $0 + 1 }
    }

    private static func readCopy(
        in bytes: UnsafeRawBufferPointer, tag: UInt8, at position: inout Int
    ) -> (offset: Int, count: Int)? {
        switch tag & 3 {
        case 1:
            guard let low = unsafe readLittleEndian(in: bytes, count: 1, at: &position) else { return nil }
            return (Int(tag >> 5) << 8 | low, Int(tag >> 2 & 7) + 4)
        case 2:
            return unsafe readLittleEndian(in: bytes, count: 2, at: &position).map { ($0, Int(tag >> 2) + 1) }
        default:
            return unsafe readLittleEndian(in: bytes, count: 4, at: &position).map { ($0, Int(tag >> 2) + 1) }
        }
    }

    /// Reads a little-endian number of `count` bytes.
    private static func readLittleEndian(
        in bytes: UnsafeRawBufferPointer, count: Int, at position: inout Int
    ) -> Int? {
        guard count <= bytes.count - position else { return nil }
        var value = 0
        for index in 0..<count { value |= Int(unsafe bytes[position + index]) << (8 * index) }
        position += count
        return value
    }
}
