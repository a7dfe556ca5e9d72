/// Reads the header blocks of one connection (RFC 7541) field by field, and maintains the peer's table.
///
/// It never traps on a block. After a `broken` block the tables of both sides differ, so the connection must
/// close.
@safe final class HeaderDecoder {
    enum DecodeResult {
        case field
        case end
        case invalid
    }

    /// The name that `next` found. Valid until the next call.
    private(set) var name = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The value as received, perhaps in Huffman code. `value()` decodes it.
    private var valueBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var isValueHuffmanCoded = false

    private let table = HeaderTable()
    private let huffman = HuffmanCode.shared
    private var block = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var position = 0
    /// Whether no field was read yet. The table's size may change only before the first field.
    private var isAtBlockStart = true
    /// Strings decoded from Huffman code, and names from the table while the table changes.
    private var scratch: UnsafeMutableRawPointer
    private var scratchBytes = HeaderDecoder.scratchKeptBytes
    private var scratchUsed = 0

    /// Bytes of scratch memory that are kept between blocks.
    private static let scratchKeptBytes = 2 * HeaderTable.bytesMax
    /// Limit on the groups of seven bits in an integer. No valid length or index in our frames needs more.
    private static let integerBytesMax = 4

    init() { unsafe scratch = .allocate(byteCount: scratchBytes, alignment: 16) }

    deinit { unsafe scratch.deallocate() }

    /// Begins a block. The whole block must be read to its `end`, even if its fields are rejected.
    func begin(block: UnsafeRawBufferPointer) {
        unsafe self.block = block
        position = 0
        isAtBlockStart = true
        if scratchBytes > HeaderDecoder.scratchKeptBytes {
            makeScratch(bytes: HeaderDecoder.scratchKeptBytes)
        }
    }

    func decodeNext() -> DecodeResult {
        scratchUsed = 0
        while unsafe position < block.count {
            let byte = unsafe block[position]
            if byte & 0x80 != 0 { return readIndexed() }
            if byte & 0xC0 == 0x40 { return readLiteral(prefixBits: 6, entersTable: true) }
            if byte & 0xE0 != 0x20 { return readLiteral(prefixBits: 4, entersTable: false) }
            guard isAtBlockStart, let size = readInteger(prefixBits: 5), size <= HeaderTable.bytesMax else {
                return .invalid
            }
            table.setLimit(to: size)
        }
        return .end
    }

    /// Upper bound of the bytes of the value that `next` found.
    var valueBytesMax: Int {
        unsafe isValueHuffmanCoded
            ? HuffmanCode.decodedBytesMax(forEncodedBytes: valueBytes.count) : valueBytes.count
    }

    /// Returns the value that `next` found, or nil if it is not valid Huffman code. Most values are not
    /// needed, and decoding is most of the work, so values are decoded only on request.
    func value() -> UnsafeRawBufferPointer? {
        guard let text = unsafe text(of: (valueBytes, isValueHuffmanCoded)) else { return nil }
        unsafe valueBytes = text
        isValueHuffmanCoded = false
        return unsafe text
    }

    private func readIndexed() -> DecodeResult {
        isAtBlockStart = false
        guard let index = readInteger(prefixBits: 7), let field = unsafe field(at: index) else {
            return .invalid
        }
        unsafe name = field.name
        unsafe valueBytes = field.value
        isValueHuffmanCoded = false
        return .field
    }

    private func readLiteral(prefixBits: Int, entersTable: Bool) -> DecodeResult {
        isAtBlockStart = false
        // Reserve memory first. If the scratch grew between the two strings, the first one would be lost.
        guard let index = readInteger(prefixBits: prefixBits) else { return .invalid }
        reserveScratch()
        if index == 0 {
            guard let string = unsafe readString(), let text = unsafe text(of: string) else {
                return .invalid
            }
            unsafe name = text
        } else {
            guard let field = unsafe field(at: index) else { return .invalid }
            unsafe name = field.name
            if entersTable && index > StaticTable.count { unsafe name = copyToScratch(field.name) }
        }
        guard let string = unsafe readString() else { return .invalid }
        unsafe valueBytes = string.bytes
        unsafe isValueHuffmanCoded = string.isCoded
        guard entersTable else { return .field }
        guard let value = unsafe value() else { return .invalid }
        unsafe table.insert(name: name, value: value)
        return .field
    }

    private func field(at index: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        if index > StaticTable.count {
            let age = index - StaticTable.count - 1
            return unsafe age < table.count ? table.field(age: age) : nil
        }
        return unsafe index > 0 ? StaticTable.field(at: index) : nil
    }

    // MARK: Bytes

    private func readInteger(prefixBits: Int) -> Int? {
        let limit = 1 << prefixBits - 1
        var value = unsafe Int(block[position]) & limit
        position += 1
        guard value == limit else { return value }
        for group in 0..<HeaderDecoder.integerBytesMax {
            guard unsafe position < block.count else { return nil }
            let byte = unsafe Int(block[position])
            position += 1
            value += (byte & 127) << (7 * group)
            if byte < 128 { return value }
        }
        return nil
    }

    /// Returns the string at the current position, which begins with its length.
    private func readString() -> (bytes: UnsafeRawBufferPointer, isCoded: Bool)? {
        guard unsafe position < block.count else { return nil }
        let isCoded = unsafe block[position] & 0x80 != 0
        guard let count = readInteger(prefixBits: 7), unsafe count <= block.count - position else {
            return nil
        }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: block[position..<position + count])
        position += count
        return unsafe (bytes, isCoded)
    }

    private func text(of string: (bytes: UnsafeRawBufferPointer, isCoded: Bool)) -> UnsafeRawBufferPointer? {
        guard unsafe string.isCoded else { return unsafe string.bytes }
        let start = unsafe scratch + scratchUsed
        guard let decoded = unsafe huffman.decode(string.bytes, into: start) else { return nil }
        scratchUsed += decoded
        return unsafe UnsafeRawBufferPointer(start: start, count: decoded)
    }

    private func copyToScratch(_ name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = unsafe scratch + scratchUsed
        if let base = name.baseAddress { unsafe start.copyMemory(from: base, byteCount: name.count) }
        scratchUsed += name.count
        return unsafe UnsafeRawBufferPointer(start: start, count: name.count)
    }

    /// Reserves memory for a name of the table and for the decoded rest of the block. The limits on frames
    /// and continuations bound the block.
    private func reserveScratch() {
        let wanted =
            unsafe HeaderTable.bytesMax + HuffmanCode.decodedBytesMax(forEncodedBytes: block.count - position)
            + 1
        if wanted > scratchBytes { makeScratch(bytes: wanted) }
    }

    private func makeScratch(bytes count: Int) {
        unsafe scratch.deallocate()
        unsafe scratch = .allocate(byteCount: count, alignment: 16)
        scratchBytes = count
    }
}
