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
    let pseudoFields: [EncodedField]
    let regularFields: [EncodedField]
    /// `:path` and the varying field, without their values.
    let pathPrefix: [UInt8]
    let varyingPrefix: [UInt8]?
    /// Upper bound of the bytes of all parts.
    let blockBytesMax: Int

    /// Creates a template. `varying` names the field whose value each request supplies.
    package init(
        method: String, scheme: String = "https", authority: String, headers: [HeaderField],
        varying: String? = nil
    ) throws(HeaderFieldError) {
        let first = [
            HeaderField(name: ":method", value: method), HeaderField(name: ":scheme", value: scheme),
            HeaderField(name: ":authority", value: authority),
        ]
        for field in first { try field.checkValue() }
        for field in headers { try field.check() }
        isHead = method == "HEAD"
        pseudoFields = first.map { EncodedField(encoding: $0) }
        regularFields = headers.map { EncodedField(encoding: $0) }
        pathPrefix = EncodedField.prefix(forName: ":path")
        if let varying {
            try HeaderField(name: varying, value: "").check()
            varyingPrefix = EncodedField.prefix(forName: varying)
        } else {
            varyingPrefix = nil
        }
        let bytes = (pseudoFields + regularFields).reduce(0) { $0 + $1.literal.count }
        guard bytes <= RequestTemplate.encodedBytesMax else {
            throw .tooLarge(bytes: bytes, limit: RequestTemplate.encodedBytesMax)
        }
        blockBytesMax = bytes + pathPrefix.count + (varyingPrefix?.count ?? 0)
    }
}
