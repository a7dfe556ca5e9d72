internal import JSON
internal import LiveActivity
internal import Telemetry

/// What a request brought, as readers may see it: without anything that looks like a token or another
/// secret, and not more than any push may have.
struct ShownPayload {
    /// Bytes that are shown; what is longer is cut there, and then it is a text.
    static let bytesMax = Judge.broadcastBytesMax

    /// Nil where it is no JSON, or is none any more after the cut.
    let json: RawJSON?
    let text: String
    let isCut: Bool

    init(_ body: ArraySlice<UInt8>) {
        isCut = body.count > Self.bytesMax
        text = Redaction.scrub(String(decoding: body.prefix(Self.bytesMax), as: UTF8.self))
        json = isCut ? nil : try? RawJSON(checking: Array(text.utf8), with: JSONReader())
    }

    func writeFields(to writer: inout JSONWriter) {
        if text.isEmpty { return }
        if let json { writer.field("payload", json) } else { writer.field("payload", text) }
        if isCut { writer.field("payloadIsCut", true) }
    }
}
