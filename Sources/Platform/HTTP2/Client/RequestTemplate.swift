/// The header block of a request, encoded once. All requests share it that differ only in `:path` and one
/// more field (`apns-id`), so a send to a million tokens has one template. It is immutable.
///
/// `:path`, `authorization` and the varying field are never indexed. The other fields enter the peer's table
/// once for each connection and take one byte after that.
package final class RequestTemplate: Sendable {
    /// Limit that lets the block and its path fit into one HEADERS frame.
    private static let encodedBytesMax = 8_192
    /// Limit on a path and a varying value together.
    static let variableBytesMax = 4_096

    let isHead: Bool
    /// The fields before `:path`, which must stay among the pseudo fields.
    let pseudo: [EncodedField]
    let rest: [EncodedField]
    /// `:path` and the varying field, without their values.
    let pathPrefix: [UInt8]
    let varyingPrefix: [UInt8]?
    /// Upper bound of the bytes of all parts.
    let blockBytesMax: Int

    /// Creates a template. `varying` names the field whose value each request supplies.
    package init(
        method: String, scheme: String = "https", authority: String, headers: [HeaderField],
        varying: String? = nil
    ) throws(HeaderFault) {
        let first = [
            HeaderField(":method", method), HeaderField(":scheme", scheme),
            HeaderField(":authority", authority),
        ]
        for field in first { try field.checkValue() }
        for field in headers { try field.check() }
        isHead = method == "HEAD"
        pseudo = first.map { EncodedField($0) }
        rest = headers.map { EncodedField($0) }
        pathPrefix = EncodedField.prefix(":path")
        if let varying {
            try HeaderField(varying, "").check()
            varyingPrefix = EncodedField.prefix(varying)
        } else {
            varyingPrefix = nil
        }
        let bytes = (pseudo + rest).reduce(0) { $0 + $1.literal.count }
        guard bytes <= RequestTemplate.encodedBytesMax else {
            throw .tooLarge(bytes: bytes, limit: RequestTemplate.encodedBytesMax)
        }
        blockBytesMax = bytes + pathPrefix.count + (varyingPrefix?.count ?? 0)
    }
}
