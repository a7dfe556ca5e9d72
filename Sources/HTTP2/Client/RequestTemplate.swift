/// The header block of a request, encoded once and shared by all requests that differ only in `:path`
/// and in one more field (`apns-id`): a send to a million tokens has one template. It never changes.
///
/// `:path`, `authorization` and the varying field are never indexed; the other fields enter the peer's
/// table once for each connection and are one byte from then on.
package final class RequestTemplate: Sendable {
    /// More would not fit into one HEADERS frame with its path.
    private static let encodedBytesMax = 8_192
    /// A path and a varying value together.
    static let variableBytesMax = 4_096

    let isHead: Bool
    /// What comes before `:path`, which must stay among the pseudo fields.
    let pseudo: [EncodedField]
    let rest: [EncodedField]
    /// `:path` and the varying field up to their values.
    let pathPrefix: [UInt8]
    let varyingPrefix: [UInt8]?
    /// What all of them take at most.
    let blockBytesMax: Int

    /// `varying` names the field whose value each request brings.
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
