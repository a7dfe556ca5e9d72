/// An encoder of the header blocks that one client session sends (HPACK, RFC 7541). A block is made of a
/// template, the path and the varying value of a request (`RequestTemplate`).
///
/// The fixed parts of a template's block are encoded once and copied for each request, as long as the dynamic
/// table does not change. The table here equals the peer's table, entry for entry.
@safe final class HeaderEncoder {
    private struct Entry {
        let text: [UInt8]
        let hash: Int
        /// The size by which the entry counts.
        let tableBytes: Int
    }

    /// The entries, newest last.
    private var table: [Entry] = []
    private var tableBytes = 0
    private var tableBytesMax = HeaderTable.bytesMax
    /// The smallest and the last size of the table that the peer has set since the last block. The next block
    /// must begin with them (RFC 7541, 4.2).
    private var sizeUpdates: (least: Int, last: Int)?

    /// The template whose parts are in `head` and `tail`. Nil if the parts do not fit the present table.
    private var current: RequestTemplate?
    // The cached parts: the block up to the path, and from there to the varying value. Exclusivity is
    // unchecked, because each request copies them into its frame, and makes no other call meanwhile.
    @safe @exclusivity(unchecked) private var head: [UInt8] = []
    @safe @exclusivity(unchecked) private var tail: [UInt8] = []

    /// Applies the size of the table in the peer's SETTINGS. A size above the protocol's default is not used.
    func limitTable(to size: Int) {
        let size = min(size, HeaderTable.bytesMax)
        guard size != tableBytesMax else { return }
        sizeUpdates = (min(sizeUpdates?.least ?? size, size), size)
        tableBytesMax = size
        evict(downTo: size)
        current = nil
    }

    /// Returns the maximum length of a block whose path and varying value have these lengths.
    static func bytesMax(for template: RequestTemplate, path: Int, varying: Int) -> Int {
        // The integers are two sizes of the table, and the lengths of the path and of the varying value.
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
        let sizes = updates.least < updates.last ? [updates.least, updates.last] : [updates.last]
        // 001 in the first byte: a new size of the table (RFC 7541, 6.3).
        for size in sizes {
            unsafe end += HPACKInteger.write(size, prefixBits: 5, pattern: 0x20, to: end)
        }
    }

    // MARK: The table

    /// Encodes the parts of a template's block, up to the path and after it.
    private func buildBlock(for template: RequestTemplate) {
        var changesTable = false
        head.removeAll(keepingCapacity: true)
        tail.removeAll(keepingCapacity: true)
        for field in template.pseudoFields {
            let hasChangedTable = encode(field, to: &head)
            changesTable = changesTable || hasChangedTable
        }
        head += template.pathPrefix
        for field in template.regularFields {
            let hasChangedTable = encode(field, to: &tail)
            changesTable = changesTable || hasChangedTable
        }
        // A block that adds entries to the table is valid only once, because later blocks refer to these
        // entries.
        current = changesTable ? nil : template
    }

    /// Encodes a field. Returns whether this has changed the table.
    private func encode(_ field: EncodedField, to bytes: inout [UInt8]) -> Bool {
        guard field.tableBytes > 0 else {
            bytes += field.literal
            return false
        }
        if let index = table.lastIndex(where: { $0.hash == field.hash && $0.text == field.text }) {
            // 1 in the first byte: an index (RFC 7541, 6.1). The newest entry follows the static table.
            HPACKInteger.append(
                StaticTable.count + table.count - index, prefixBits: 7, pattern: 0x80, to: &bytes)
            return false
        }
        bytes += field.literal
        // The peer evicts before it inserts. A field larger than the table empties it.
        evict(downTo: tableBytesMax - field.tableBytes)
        guard field.tableBytes <= tableBytesMax else { return true }
        table.append(Entry(text: field.text, hash: field.hash, tableBytes: field.tableBytes))
        tableBytes += field.tableBytes
        return true
    }

    private func evict(downTo limit: Int) {
        var evictedCount = 0
        while tableBytes > max(0, limit), evictedCount < table.count {
            tableBytes -= table[evictedCount].tableBytes
            evictedCount += 1
        }
        table.removeFirst(evictedCount)
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
