internal import CNghttp2

/// One header field in HPACK, encoded without knowledge of the peer's table.
struct EncodedField: Sendable {
    /// The encoding that needs no dynamic table: an index into the static table, or a literal.
    let literal: [UInt8]
    /// Name, zero byte, value. Equal fields have equal text.
    let text: [UInt8]
    let hash: Int
    /// Size of the field in the peer's table, 0 if its literal does not enter it.
    let tableBytes: Int

    init(encoding field: HeaderField) {
        literal = field.isIndexed ? EncodedField.encode(field) : EncodedField.encodeWithoutHuffman(field)
        text = Array(field.name.utf8) + [0] + Array(field.value.utf8)
        hash = text.hashValue
        let entersTable = literal.first.map { $0 & 0xC0 == 0x40 } ?? false
        tableBytes = entersTable ? text.count - 1 + 32 : 0
    }

    /// Returns the field without its value, as a literal that is never indexed.
    static func prefix(forName name: String) -> [UInt8] {
        Array(encode(HeaderField(name: name, value: "", isIndexed: false)).dropLast())
    }

    /// Encodes a field that is never indexed, without Huffman code. Huffman code makes a bearer a fifth
    /// shorter, but costs the peer more than the rest of the header block.
    private static func encodeWithoutHuffman(_ field: HeaderField) -> [UInt8] {
        var bytes = prefix(forName: field.name)
        HPACKInteger.append(field.value.utf8.count, prefixBits: 7, pattern: 0, to: &bytes)
        return bytes + Array(field.value.utf8)
    }

    /// Encodes a field with a new deflater, so that it refers only to the static table.
    private static func encode(_ field: HeaderField) -> [UInt8] {
        var deflater: OpaquePointer?
        guard unsafe nghttp2_hd_deflate_new(&deflater, 4_096) == 0, let deflater = unsafe deflater else {
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
                let room = unsafe nghttp2_hd_deflate_bound(deflater, &pair, 1)
                return unsafe [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
                    let written = unsafe nghttp2_hd_deflate_hd(deflater, bytes.baseAddress, room, &pair, 1)
                    precondition(written > 0, "a checked field cannot be encoded")
                    count = written
                }
            }
        }
    }
}
