/// The header block of a request, encoded once for all requests that differ only in `:path` and in the value
/// of one more field, the varying field (`apns-id`). So a send to a million tokens has one template. It is
/// immutable.
///
/// `:path`, `authorization` and the varying field are never indexed. The other fields enter the peer's table
/// with the first request of a connection, and take one byte in later requests.
package final class RequestTemplate: Sendable {
    /// The limit of the encoded fields. With the path and the varying value they fit into one HEADERS frame.
    private static let encodedBytesMax = 8_192
    /// The limit of a path and a varying value together.
    static let variableBytesMax = 4_096

    /// Whether the method is HEAD, whose answer has no body.
    let isHead: Bool

    // The parts of the block, in their order.
    /// The pseudo fields before `:path`. All pseudo fields must precede the regular fields.
    let pseudoFields: [EncodedField]
    /// `:path` without its value.
    let pathPrefix: [UInt8]
    let regularFields: [EncodedField]
    /// The varying field without its value. Nil if the template has no varying field.
    let varyingPrefix: [UInt8]?
    /// Upper bound of the bytes of these parts.
    let blockBytesMax: Int

    /// Creates a template.
    ///
    /// - Parameter varying: The name of the varying field.
    package init(
        method: String, scheme: String = "https", authority: String, headers: [HeaderField],
        varying: String? = nil
    ) throws(HeaderFieldError) {
        let pseudoHeaders = [
            HeaderField(name: ":method", value: method), HeaderField(name: ":scheme", value: scheme),
            HeaderField(name: ":authority", value: authority),
        ]
        for field in pseudoHeaders { try field.checkValue() }
        for field in headers { try field.check() }
        isHead = method == "HEAD"
        pseudoFields = pseudoHeaders.map { EncodedField(encoding: $0) }
        regularFields = headers.map { EncodedField(encoding: $0) }
        pathPrefix = EncodedField.prefix(forName: ":path")
        if let varying {
            try HeaderField(name: varying, value: "").check()
            varyingPrefix = EncodedField.prefix(forName: varying)
        } else {
            varyingPrefix = nil
        }
        let encodedBytes = (pseudoFields + regularFields).reduce(0) { $0 + $1.literal.count }
        guard encodedBytes <= RequestTemplate.encodedBytesMax else {
            throw .tooLarge(bytes: encodedBytes, limit: RequestTemplate.encodedBytesMax)
        }
        blockBytesMax = encodedBytes + pathPrefix.count + (varyingPrefix?.count ?? 0)
    }
}
