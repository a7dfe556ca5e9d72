internal import Identifiers
internal import JSON
internal import Telemetry

/// The payload of a request as readers of the journal see it: without anything that looks like a token or
/// another secret, and not longer than the largest valid push.
struct RedactedPayload {
    /// Maximum number of bytes shown. A longer payload is truncated and shown as text.
    static let bytesMax = RequestValidator.broadcastBytesMax

    /// The payload as JSON. Nil if it is not JSON, or was truncated.
    let json: RawJSON?
    /// The payload as text, perhaps truncated.
    let text: String
    let isTruncated: Bool

    /// - Parameter body: the body of the request.
    init(_ body: ArraySlice<UInt8>) {
        isTruncated = body.count > Self.bytesMax
        text = Redaction.scrub(String(decoding: body.prefix(Self.bytesMax), as: UTF8.self))
        json = isTruncated ? nil : try? RawJSON(checking: Array(text.utf8), with: JSONReader())
    }

    func writeFields(to writer: inout JSONWriter) {
        if text.isEmpty { return }
        if let json { writer.field("payload", json) } else { writer.field("payload", text) }
        if isTruncated { writer.field("payloadIsCut", true) }
    }
}
