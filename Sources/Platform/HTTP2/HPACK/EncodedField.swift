internal import CNghttp2

/// One header field, encoded in HPACK once for all connections. So the encoding does not depend on a
/// connection's dynamic table.
struct EncodedField: Sendable {
    /// The encoding without the dynamic table: an index into the static table, or a literal.
    let literal: [UInt8]
    /// The name, a zero byte, and the value. Two fields are equal if their texts are.
    let text: [UInt8]
    let hash: Int
    /// The size of the field in the peer's dynamic table. 0 if `literal` does not enter it.
    let tableBytes: Int

    init(encoding field: HeaderField) {
        literal = field.isIndexed ? EncodedField.encode(field) : EncodedField.encodeWithoutHuffman(field)
        text = Array(field.name.utf8) + [0] + Array(field.value.utf8)
        hash = text.hashValue
        // RFC 7541, 6.2.1: a literal with the bits 01 in front enters the table.
        let entersTable = literal.first.map { $0 & 0xC0 == 0x40 } ?? false
        let nameAndValueBytes = text.count - 1
        tableBytes = entersTable ? nameAndValueBytes + HeaderTable.entryOverheadBytes : 0
    }

    /// Returns a literal that is never indexed, without its value.
    static func prefix(forName name: String) -> [UInt8] {
        let literalWithEmptyValue = encode(HeaderField(name: name, value: "", isIndexed: false))
        // An empty value is one byte, its length.
        return Array(literalWithEmptyValue.dropLast())
    }

    /// Encodes a field that is never indexed, without Huffman code. Huffman code makes a bearer token a fifth
    /// shorter, but costs the peer more time than the rest of the header block.
    private static func encodeWithoutHuffman(_ field: HeaderField) -> [UInt8] {
        var bytes = prefix(forName: field.name)
        HPACKInteger.append(field.value.utf8.count, prefixBits: 7, pattern: 0, to: &bytes)
        return bytes + Array(field.value.utf8)
    }

    /// Encodes a field with a new deflater of nghttp2, which has an empty dynamic table.
    private static func encode(_ field: HeaderField) -> [UInt8] {
        var deflater: OpaquePointer?
        guard unsafe nghttp2_hd_deflate_new(&deflater, HeaderTable.bytesMax) == 0,
            let deflater = unsafe deflater
        else {
            preconditionFailure("out of memory")
        }
        defer { unsafe nghttp2_hd_deflate_del(deflater) }
        var name = Array(field.name.utf8)
        var value = Array(field.value.utf8)
        let flags = field.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        return unsafe name.withUnsafeMutableBufferPointer { name in
            unsafe value.withUnsafeMutableBufferPointer { value in
                var pair = unsafe nghttp2_nv(
                    name: name.baseAddress, value: value.baseAddress, namelen: name.count,
                    valuelen: value.count, flags: UInt8(flags.rawValue))
                let capacity = unsafe nghttp2_hd_deflate_bound(deflater, &pair, 1)
                return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { bytes, count in
                    let written = unsafe nghttp2_hd_deflate_hd(
                        deflater, bytes.baseAddress, capacity, &pair, 1)
                    precondition(written > 0, "a checked field cannot be encoded")
                    count = written
                }
            }
        }
    }
}
