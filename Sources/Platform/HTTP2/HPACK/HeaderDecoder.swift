/// Reads the header blocks of one connection (RFC 7541) field by field, and maintains the peer's table.
///
/// It never traps on a block. After a `broken` block the tables of both sides differ, so the connection must
/// close.
@safe final class HeaderDecoder {
    enum Step {
        case field
        case end
        case broken
    }

    /// The name that `next` found. Valid until the next call.
    private(set) var name = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The value as received, perhaps in Huffman code. `value()` decodes it.
    private var valueBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var isValueCoded = false

    private let table = HeaderTable()
    private let huffman = HuffmanCode.shared
    private var block = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var at = 0
    /// Whether no field was read yet. The table's size may change only before the first field.
    private var isAtHead = true
    /// Strings decoded from Huffman code, and names from the table while the table changes.
    private var scratch: UnsafeMutableRawPointer
    private var scratchBytes = HeaderDecoder.scratchKept
    private var scratchUsed = 0

    /// Bytes of scratch memory that are kept between blocks.
    private static let scratchKept = 2 * HeaderTable.bytesMax
    /// Limit on the groups of seven bits in an integer. No valid length or index in our frames needs more.
    private static let integerBytesMax = 4

    init() { unsafe scratch = .allocate(byteCount: scratchBytes, alignment: 16) }

    deinit { unsafe scratch.deallocate() }

    /// Begins a block. The whole block must be read to its `end`, even if its fields are rejected.
    func begin(_ block: UnsafeRawBufferPointer) {
        unsafe self.block = block
        at = 0
        isAtHead = true
        if scratchBytes > HeaderDecoder.scratchKept { makeScratch(HeaderDecoder.scratchKept) }
    }

    func next() -> Step {
        scratchUsed = 0
        while unsafe at < block.count {
            let byte = unsafe block[at]
            if byte & 0x80 != 0 { return indexed() }
            if byte & 0xC0 == 0x40 { return literal(prefixBits: 6, entersTable: true) }
            if byte & 0xE0 != 0x20 { return literal(prefixBits: 4, entersTable: false) }
            guard isAtHead, let size = integer(5), size <= HeaderTable.bytesMax else { return .broken }
            table.limit(to: size)
        }
        return .end
    }

    /// Upper bound of the bytes of the value that `next` found.
    var valueBytesMax: Int {
        unsafe isValueCoded ? HuffmanCode.decodedBytesMax(valueBytes.count) : valueBytes.count
    }

    /// Returns the value that `next` found, or nil if it is not valid Huffman code. Most values are not
    /// needed, and decoding is most of the work, so values are decoded only on request.
    func value() -> UnsafeRawBufferPointer? {
        guard let text = unsafe text(of: (valueBytes, isValueCoded)) else { return nil }
        unsafe valueBytes = text
        isValueCoded = false
        return unsafe text
    }

    private func indexed() -> Step {
        isAtHead = false
        guard let index = integer(7), let field = unsafe field(index) else { return .broken }
        unsafe name = field.name
        unsafe valueBytes = field.value
        isValueCoded = false
        return .field
    }

    private func literal(prefixBits: Int, entersTable: Bool) -> Step {
        isAtHead = false
        // Reserve memory first. If the scratch grew between the two strings, the first one would be lost.
        guard let index = integer(prefixBits) else { return .broken }
        reserveScratch()
        if index == 0 {
            guard let string = unsafe string(), let text = unsafe text(of: string) else { return .broken }
            unsafe name = text
        } else {
            guard let field = unsafe field(index) else { return .broken }
            unsafe name = field.name
            if entersTable && index > StaticFields.count { unsafe name = kept(field.name) }
        }
        guard let string = unsafe string() else { return .broken }
        unsafe valueBytes = string.bytes
        unsafe isValueCoded = string.isCoded
        guard entersTable else { return .field }
        guard let value = unsafe value() else { return .broken }
        unsafe table.insert(name, value)
        return .field
    }

    private func field(_ index: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        if index > StaticFields.count {
            let age = index - StaticFields.count - 1
            return unsafe age < table.count ? table.field(age) : nil
        }
        return unsafe index > 0 ? StaticFields.field(index) : nil
    }

    // MARK: Bytes

    private func integer(_ prefixBits: Int) -> Int? {
        let limit = 1 << prefixBits - 1
        var value = unsafe Int(block[at]) & limit
        at += 1
        guard value == limit else { return value }
        for group in 0..<HeaderDecoder.integerBytesMax {
            guard unsafe at < block.count else { return nil }
            let byte = unsafe Int(block[at])
            at += 1
            value += (byte & 127) << (7 * group)
            if byte < 128 { return value }
        }
        return nil
    }

    /// Returns the string at the current position, which begins with its length.
    private func string() -> (bytes: UnsafeRawBufferPointer, isCoded: Bool)? {
        guard unsafe at < block.count else { return nil }
        let isCoded = unsafe block[at] & 0x80 != 0
        guard let count = integer(7), unsafe count <= block.count - at else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: block[at..<at + count])
        at += count
        return unsafe (bytes, isCoded)
    }

    private func text(of string: (bytes: UnsafeRawBufferPointer, isCoded: Bool)) -> UnsafeRawBufferPointer? {
        guard unsafe string.isCoded else { return unsafe string.bytes }
        let start = unsafe scratch + scratchUsed
        guard let decoded = unsafe huffman.decode(string.bytes, into: start) else { return nil }
        scratchUsed += decoded
        return unsafe UnsafeRawBufferPointer(start: start, count: decoded)
    }

    private func kept(_ name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = unsafe scratch + scratchUsed
        if let base = name.baseAddress { unsafe start.copyMemory(from: base, byteCount: name.count) }
        scratchUsed += name.count
        return unsafe UnsafeRawBufferPointer(start: start, count: name.count)
    }

    /// Reserves memory for a name of the table and for the decoded rest of the block. The limits on frames
    /// and continuations bound the block.
    private func reserveScratch() {
        let wanted = unsafe HeaderTable.bytesMax + HuffmanCode.decodedBytesMax(block.count - at) + 1
        if wanted > scratchBytes { makeScratch(wanted) }
    }

    private func makeScratch(_ count: Int) {
        unsafe scratch.deallocate()
        unsafe scratch = .allocate(byteCount: count, alignment: 16)
        scratchBytes = count
    }
}
