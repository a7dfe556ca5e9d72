/// Snappy, for decoding only. The broker reads the raw block format, and the framing of snappy-java
/// ("xerial") that Kafka's Java clients put around blocks.
enum SnappyCodec {
    /// The first bytes of the framing: 0x82, "SNAPPY" and 0.
    private static let framingMagic: [UInt8] = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]
    /// The magic, a version and the oldest compatible version.
    private static let framingHeaderSize = 16
    /// The low bits of a tag, which say whether literal bytes follow or a copy of earlier output.
    private static let tagKindMask: UInt8 = 3
    private static let literalKind: UInt8 = 0

    /// Returns nil for damaged input, or if the result has more than `max` bytes.
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        var output: [UInt8] = []
        guard unsafe bytes.starts(with: framingMagic) else {
            return unsafe decompressBlock(bytes, into: &output, max: max) ? output : nil
        }
        var position = framingHeaderSize
        while position < bytes.count {
            guard bytes.count - position >= 4 else { return nil }
            let length: Int32 = unsafe bytes.big(at: position)
            position += 4
            guard length >= 0, Int(length) <= bytes.count - position else { return nil }
            let block = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(length)])
            guard unsafe decompressBlock(block, into: &output, max: max) else { return nil }
            position += Int(length)
        }
        return output
    }

    /// Appends the content of one block: its length, and then tags with literals and copies. Returns false
    /// if the block is damaged.
    private static func decompressBlock(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], max: Int)
        -> Bool
    {
        var position = 0
        guard let length = unsafe readLength(in: bytes, at: &position), length <= max - output.count else {
            return false
        }
        let start = output.count
        let end = start + length
        output.reserveCapacity(end)
        while position < bytes.count {
            let tag = unsafe bytes[position]
            position += 1
            if tag & tagKindMask == literalKind {
                guard let count = unsafe literalLength(in: bytes, tag: tag, at: &position),
                    count <= bytes.count - position, count <= end - output.count
                else { return false }
                unsafe output.append(contentsOf: bytes[position..<position + count])
                position += count
            } else {
                guard let copy = unsafe readCopy(in: bytes, tag: tag, at: &position), copy.offset > 0,
                    copy.offset <= output.count - start, copy.count <= end - output.count
                else { return false }
                // Byte by byte, because a copy may read bytes that it has just written.
                for _ in 0..<copy.count { output.append(output[output.count - copy.offset]) }
            }
        }
        return output.count == end
    }

    /// Reads the length of the decompressed block, as an unsigned LEB128 number of 32 bits.
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

    /// Returns the length of a literal. The tag has the length less one. From 60 on it has the number of
    /// bytes less 59 in which the length less one follows.
    private static func literalLength(
        in bytes: UnsafeRawBufferPointer, tag: UInt8, at position: inout Int
    ) -> Int? {
        let lengthField = Int(tag >> 2)
        guard lengthField >= 60 else { return lengthField + 1 }
        return unsafe readLittleEndian(in: bytes, count: lengthField - 59, at: &position).map { $0 + 1 }
    }

    /// Reads a copy: how far back in the output it begins, and its length. The kind of the tag says in how
    /// many bytes the offset follows: one (with three more bits in the tag), two or four.
    private static func readCopy(
        in bytes: UnsafeRawBufferPointer, tag: UInt8, at position: inout Int
    ) -> (offset: Int, count: Int)? {
        switch tag & tagKindMask {
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
