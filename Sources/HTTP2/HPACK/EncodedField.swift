internal import CNghttp2

/// One header field as HPACK writes it when nothing is known of the peer's table.
struct EncodedField: Sendable {
    /// Needs no table: an index into the static one, or a literal.
    let literal: [UInt8]
    /// Name, a zero byte, value: what two equal fields have in common.
    let text: [UInt8]
    let hash: Int
    /// What the field takes in the peer's table, 0 when its literal does not enter it.
    let tableBytes: Int

    init(_ field: HeaderField) {
        literal = field.isIndexed ? EncodedField.encode(field) : EncodedField.plain(field)
        text = Array(field.name.utf8) + [0] + Array(field.value.utf8)
        hash = text.hashValue
        let entersTable = literal.first.map { $0 & 0xC0 == 0x40 } ?? false
        tableBytes = entersTable ? text.count - 1 + 32 : 0
    }

    /// The field without its value, as a literal that is never indexed.
    static func prefix(_ name: String) -> [UInt8] {
        Array(encode(HeaderField(name, "", isIndexed: false)).dropLast())
    }

    /// What is never indexed comes with every request, and not in Huffman code: that makes a bearer a fifth
    /// shorter, and costs the peer more than all the rest of the request's header block.
    private static func plain(_ field: HeaderField) -> [UInt8] {
        var bytes = prefix(field.name)
        HPACKInteger.append(field.value.utf8.count, prefixBits: 7, pattern: 0, to: &bytes)
        return bytes + Array(field.value.utf8)
    }

    /// A new deflater for each field: it refers to no table but the static one.
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
                    precondition(written > 0, "a checked field can be encoded")
                    count = written
                }
            }
        }
    }
}
