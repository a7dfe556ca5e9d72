/// Writes the header blocks of one client session from templates.
///
/// The block of a template is encoded once and copied for each request, as long as the table does not change.
/// The table here equals the peer's table, entry for entry.
@safe final class HeaderEncoder {
    private struct Entry {
        let text: [UInt8]
        let hash: Int
        let bytes: Int
    }

    /// The entries, newest last.
    private var table: [Entry] = []
    private var tableBytes = 0
    private var tableBytesMax = HeaderTable.bytesMax
    /// The smallest and the last table size that the peer allowed since the last block. The next block begins
    /// with them.
    private var sizeUpdates: (least: Int, last: Int)?

    /// The template of the cached block, valid as long as the table does not change.
    private var current: RequestTemplate?
    /// The block up to the path, and from there to the varying value. Exclusivity is unchecked: each request
    /// copies them into its frame, and makes no other call meanwhile.
    @safe @exclusivity(unchecked) private var head: [UInt8] = []
    @safe @exclusivity(unchecked) private var tail: [UInt8] = []

    /// Applies the table size in the peer's SETTINGS. Sizes above the protocol's default are not used.
    func limitTable(to size: Int) {
        let size = min(size, HeaderTable.bytesMax)
        guard size != tableBytesMax else { return }
        sizeUpdates = (min(sizeUpdates?.least ?? size, size), size)
        tableBytesMax = size
        evict(downTo: size)
        current = nil
    }

    /// Returns the maximum length of a block.
    static func bytesMax(for template: RequestTemplate, path: Int, varying: Int) -> Int {
        template.blockBytesMax + path + varying + 4 * HPACKInteger.bytesMax
    }

    /// Writes one block and returns its length, at most `bytesMax`.
    func write(
        _ template: RequestTemplate, path: UnsafeRawBufferPointer, varying: UnsafeRawBufferPointer,
        to target: UnsafeMutableRawPointer
    ) -> Int {
        var end = unsafe target
        if let sizeUpdates { unsafe writeSizeUpdates(sizeUpdates, to: &end) }
        if template !== current { buildBlock(for: template) }
        unsafe append(head, to: &end)
        unsafe appendString(path, to: &end)
        unsafe append(tail, to: &end)
        if let prefix = template.varyingPrefix, unsafe !varying.isEmpty {
            unsafe append(prefix, to: &end)
            unsafe appendString(varying, to: &end)
        }
        return unsafe end - target
    }

    private func writeSizeUpdates(_ updates: (least: Int, last: Int), to end: inout UnsafeMutableRawPointer) {
        sizeUpdates = nil
        for size in updates.least < updates.last ? [updates.least, updates.last] : [updates.last] {
            unsafe end += HPACKInteger.write(size, prefixBits: 5, pattern: 0x20, to: end)
        }
    }

    // MARK: The table

    private func buildBlock(for template: RequestTemplate) {
        var isStable = true
        head.removeAll(keepingCapacity: true)
        tail.removeAll(keepingCapacity: true)
        for field in template.pseudoFields where !write(field, to: &head) { isStable = false }
        head += template.pathPrefix
        for field in template.regularFields where !write(field, to: &tail) { isStable = false }
        // A block that changed the table is valid only once, because the next block refers to the new
        // entries.
        current = isStable ? template : nil
    }

    /// Writes a field. Returns false if the field entered the table.
    private func write(_ field: EncodedField, to bytes: inout [UInt8]) -> Bool {
        guard field.tableBytes > 0 else {
            bytes += field.literal
            return true
        }
        if let index = table.lastIndex(where: { $0.hash == field.hash && $0.text == field.text }) {
            HPACKInteger.append(
                StaticTable.count + table.count - index, prefixBits: 7, pattern: 0x80, to: &bytes)
            return true
        }
        bytes += field.literal
        // Evict first, as the peer does. A field larger than the table empties it.
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

    // MARK: Bytes

    private func append(_ bytes: [UInt8], to end: inout UnsafeMutableRawPointer) {
        unsafe bytes.withUnsafeBytes { unsafe append($0, to: &end) }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to end: inout UnsafeMutableRawPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe end.copyMemory(from: base, byteCount: bytes.count)
        unsafe end += bytes.count
    }

    /// Writes a string without Huffman code. It is a third longer but only needs a copy.
    private func appendString(_ bytes: UnsafeRawBufferPointer, to end: inout UnsafeMutableRawPointer) {
        unsafe end += HPACKInteger.write(bytes.count, prefixBits: 7, pattern: 0, to: end)
        unsafe append(bytes, to: &end)
    }
}
