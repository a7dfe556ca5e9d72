/// Writes the HEADERS frames of one client session from templates.
///
/// nghttp2 encodes a header block field by field and runs the bearer through its Huffman code for each
/// request: that is half of what a request costs it. So nghttp2 is given `:method` alone, as a field
/// that touches no table, and the frame it makes is replaced by this one when it goes out, in the order
/// of the wire. What nghttp2 puts before the field, the table size updates that answer the peer's
/// SETTINGS, is kept and obeyed: the table here is the peer's table, entry for entry.
@safe final class HeaderEncoder {
    private struct Entry {
        let text: [UInt8]
        let hash: Int
        let bytes: Int
    }

    private static let frameHeaderBytes = 9
    private static let staticEntries = 61
    private static let frameBytesMax = 16_384

    /// The newest is last.
    private var table: [Entry] = []
    private var tableBytes = 0
    private var tableBytesMax = 4_096

    /// The template whose block is at hand, valid as long as the table does not change.
    private var current: RequestTemplate?
    /// Unchecked: each request's frame is copied together from them, and nothing else is called meanwhile.
    @safe @exclusivity(unchecked) private var pseudo: [UInt8] = []
    @safe @exclusivity(unchecked) private var rest: [UInt8] = []

    private let frame: UnsafeMutableRawPointer
    private var count = 0

    init() {
        unsafe frame = .allocate(
            byteCount: HeaderEncoder.frameHeaderBytes + HeaderEncoder.frameBytesMax, alignment: 16)
    }

    deinit { unsafe frame.deallocate() }

    /// The frame that goes out instead of nghttp2's; valid until the next call.
    func encode(
        _ template: RequestTemplate, path: UnsafeRawBufferPointer, varying: UnsafeRawBufferPointer,
        insteadOf lent: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        count = HeaderEncoder.frameHeaderBytes
        unsafe keepSizeUpdates(lent)
        if template !== current { build(template) }
        append(pseudo)
        append(template.pathPrefix)
        unsafe appendString(path)
        append(rest)
        if let prefix = template.varyingPrefix, unsafe !varying.isEmpty {
            append(prefix)
            unsafe appendString(varying)
        }
        // Type, flags and stream are nghttp2's, only the length is not.
        unsafe frame.copyMemory(from: lent.baseAddress!, byteCount: HeaderEncoder.frameHeaderBytes)
        let length = count - HeaderEncoder.frameHeaderBytes
        for (index, shift) in [16, 8, 0].enumerated() {
            unsafe frame.storeBytes(
                of: UInt8(truncatingIfNeeded: length >> shift), toByteOffset: index, as: UInt8.self)
        }
        return unsafe UnsafeRawBufferPointer(start: frame, count: count)
    }

    // MARK: The table

    private func build(_ template: RequestTemplate) {
        var isStable = true
        pseudo.removeAll(keepingCapacity: true)
        rest.removeAll(keepingCapacity: true)
        for field in template.pseudo where !write(field, &pseudo) { isStable = false }
        for field in template.rest where !write(field, &rest) { isStable = false }
        // A block that filled the table is right once: the next one refers to what it put there.
        current = isStable ? template : nil
    }

    /// False when the field entered the table.
    private func write(_ field: EncodedField, _ bytes: inout [UInt8]) -> Bool {
        guard field.tableBytes > 0 else {
            bytes += field.literal
            return true
        }
        if let index = table.lastIndex(where: { $0.hash == field.hash && $0.text == field.text }) {
            HPACKInteger.append(
                HeaderEncoder.staticEntries + table.count - index, prefixBits: 7, pattern: 0x80, to: &bytes)
            return true
        }
        bytes += field.literal
        // As the peer does: make room first; what is larger than the table empties it.
        evict(downTo: tableBytesMax - field.tableBytes)
        guard field.tableBytes <= tableBytesMax else { return false }
        table.append(Entry(text: field.text, hash: field.hash, bytes: field.tableBytes))
        tableBytes += field.tableBytes
        return false
    }

    private func evict(downTo limit: Int) {
        var evicted = 0
        while tableBytes > max(0, limit), evicted < table.count {
            tableBytes -= table[evicted].bytes
            evicted += 1
        }
        table.removeFirst(evicted)
    }

    /// Copies the size updates at the head of nghttp2's block.
    private func keepSizeUpdates(_ lent: UnsafeRawBufferPointer) {
        var at = HeaderEncoder.frameHeaderBytes
        while at < lent.count, unsafe lent[at] & 0xE0 == 0x20 {
            let (size, end) = unsafe HPACKInteger.read(lent, at, prefixBits: 5)
            unsafe append(UnsafeRawBufferPointer(rebasing: lent[at..<end]))
            at = end
            tableBytesMax = size
            evict(downTo: size)
            current = nil
        }
    }

    // MARK: Bytes

    private func append(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe (frame + count).copyMemory(from: base, byteCount: bytes.count)
        count += bytes.count
    }

    /// Plain, not in Huffman code: a third longer, and a copy.
    private func appendString(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes.count
        if rest < 127 {
            appendByte(UInt8(rest))
        } else {
            appendByte(127)
            rest -= 127
            while rest >= 128 {
                appendByte(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            appendByte(UInt8(rest))
        }
        unsafe append(bytes)
    }

    private func appendByte(_ byte: UInt8) {
        unsafe frame.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }
}
