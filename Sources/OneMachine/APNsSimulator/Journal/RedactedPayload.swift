internal import JSON
internal import LiveActivity
internal import Telemetry

/// The payload of a request for readers. Everything that looks like a token or another secret is removed. The
/// length is limited to the size of the largest valid push.
struct RedactedPayload {
    /// Maximum number of bytes shown. A longer payload is truncated and shown as text.
    static let bytesMax = RequestValidator.broadcastBytesMax

    /// The payload as JSON. Nil if it is not JSON, or was truncated.
    let json: RawJSON?
    let text: String
    let isTruncated: Bool

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
