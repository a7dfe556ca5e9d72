/// A decoder of the header blocks that arrive on one connection (HPACK, RFC 7541). The caller begins a block,
/// and then reads its fields one by one. The decoder maintains the dynamic table that the peer fills.
///
/// It never traps on a block. After an `invalid` block the tables of both sides differ, so the connection
/// must close.
@safe final class HeaderDecoder {
    enum DecodeResult {
        /// `name` and `value()` have the next field.
        case field
        /// The block has no more fields.
        case end
        case invalid
    }

    /// The name of the field that `decodeNext` has read. Valid until its next call.
    private(set) var name = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The value of that field as received, perhaps in Huffman code.
    private var valueBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var isValueHuffmanCoded = false

    private let table = HeaderTable()
    private let huffman = HuffmanCode.shared
    // The current block and the position of the next byte.
    private var block = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var position = 0
    /// Whether no field of the block was read yet. The size of the table may change only before the first
    /// field.
    private var isAtBlockStart = true
    /// Memory for strings decoded from Huffman code, and for a name from the table while the table changes.
    private var scratch: UnsafeMutableRawPointer
    private var scratchBytes = HeaderDecoder.scratchKeptBytes
    private var scratchUsed = 0

    /// Bytes of scratch memory that are kept between blocks.
    private static let scratchKeptBytes = 2 * HeaderTable.bytesMax
    /// Limit on the groups of seven bits in an integer. No valid length or index in a frame needs more.
    private static let integerGroupsMax = 4

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

    /// Reads the next field. The high bits of its first byte tell how it is represented (RFC 7541, 6).
    func decodeNext() -> DecodeResult {
        scratchUsed = 0
        while unsafe position < block.count {
            let byte = unsafe block[position]
            // 1…: an index. 01…: a literal that enters the table. 0000… and 0001…: a literal that does not.
            if byte & 0x80 != 0 { return readIndexed() }
            if byte & 0xC0 == 0x40 { return readLiteral(prefixBits: 6, entersTable: true) }
            if byte & 0xE0 != 0x20 { return readLiteral(prefixBits: 4, entersTable: false) }
            // 001…: a new size of the table, before the first field.
            guard isAtBlockStart, let size = readInteger(prefixBits: 5), size <= HeaderTable.bytesMax else {
                return .invalid
            }
            table.setLimit(to: size)
        }
        return .end
    }

    /// Upper bound of the decoded bytes of the value.
    var valueBytesMax: Int {
        unsafe isValueHuffmanCoded
            ? HuffmanCode.decodedBytesMax(forEncodedBytes: valueBytes.count) : valueBytes.count
    }

    /// Decodes and returns the value of the field, or returns nil if it is not valid Huffman code. The caller decodes
    /// only the values that it needs, because decoding is most of the work. Valid until the next call of `decodeNext`.
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
        // Memory for both strings is reserved first. If the scratch memory grew between them, the first would
        // be lost.
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
            // The insertion below can remove the entry that has this name.
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

    /// Returns a field of the static table or, with higher indices, of the dynamic table, newest first.
    private func field(at index: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        if index > StaticTable.count {
            let age = index - StaticTable.count - 1
            return unsafe age < table.count ? table.field(age: age) : nil
        }
        return unsafe index > 0 ? StaticTable.field(at: index) : nil
    }

    // MARK: Bytes

    /// Reads an integer (`HPACKInteger`) at the current position, which must be within the block.
    private func readInteger(prefixBits: Int) -> Int? {
        let prefixMax = (1 << prefixBits) - 1
        var value = unsafe Int(block[position]) & prefixMax
        position += 1
        guard value == prefixMax else { return value }
        for group in 0..<HeaderDecoder.integerGroupsMax {
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

    /// Returns the bytes of a string, decoded into the scratch memory if it is in Huffman code.
    private func text(of string: (bytes: UnsafeRawBufferPointer, isCoded: Bool)) -> UnsafeRawBufferPointer? {
        guard unsafe string.isCoded else { return unsafe string.bytes }
        let start = unsafe scratch + scratchUsed
        guard let decodedCount = unsafe huffman.decode(string.bytes, into: start) else { return nil }
        scratchUsed += decodedCount
        return unsafe UnsafeRawBufferPointer(start: start, count: decodedCount)
    }

    private func copyToScratch(_ name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = unsafe scratch + scratchUsed
        if let base = name.baseAddress { unsafe start.copyMemory(from: base, byteCount: name.count) }
        scratchUsed += name.count
        return unsafe UnsafeRawBufferPointer(start: start, count: name.count)
    }

    /// Reserves scratch memory for a name of the table and for all remaining strings of the block. The limits
    /// on frames and continuations bound the size of a block.
    private func reserveScratch() {
        let neededBytes =
            unsafe HeaderTable.bytesMax + HuffmanCode.decodedBytesMax(forEncodedBytes: block.count - position)
            + 1
        if neededBytes > scratchBytes { makeScratch(bytes: neededBytes) }
    }

    private func makeScratch(bytes: Int) {
        unsafe scratch.deallocate()
        unsafe scratch = .allocate(byteCount: bytes, alignment: 16)
        scratchBytes = bytes
    }
}
