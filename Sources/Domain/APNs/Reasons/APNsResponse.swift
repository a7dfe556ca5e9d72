package import JSON

/// The answer of APNs to one request, with its disposition. The body of a refusal is an object such as
/// `{"reason": "Unregistered", "timestamp": 1700000000000}`.
package struct APNsResponse: Sendable, Hashable {
    /// The HTTP status.
    package let status: Int
    /// The text of the reason as received, even if it is unknown. Nil if the answer has no reason.
    package let reasonText: String?
    package let reason: APNsReason?
    /// Milliseconds since 1970 at which APNs found that the token was dead.
    package let timestamp: Int64?
    package let disposition: ResponseDisposition

    /// - Parameter body: the body as received. It may be truncated or not be JSON.
    package init(status: Int, body: some Collection<UInt8>, with reader: JSONReader) {
        self.status = status
        let hasReason = !(200...299).contains(status) && !body.isEmpty
        let refusal = hasReason ? APNsResponse.parse(Array(body), with: reader) : nil
        reasonText = refusal?.reason
        reason = refusal?.reason.flatMap { APNsReason(text: $0) }
        timestamp = refusal?.timestamp
        disposition = reason?.disposition ?? APNsResponse.disposition(ofStatus: status)
    }

    /// Limit on a body. Bodies of refusals are short, and a longer body is not parsed.
    private static let bodyBytesMax = 4_096
    /// Limit on a reason, because it appears in metrics and logs.
    private static let reasonBytesMax = 64

    /// Parses the body of a refusal. Returns nil for a body that is too long or not JSON. Fields of the wrong type
    /// count as missing.
    private static func parse(
        _ body: [UInt8], with reader: JSONReader
    ) -> (reason: String?, timestamp: Int64?)? {
        guard body.count <= bodyBytesMax else { return nil }
        return try? reader.read(body) { value in
            guard value.kind == .object else { return (nil, nil) }
            let object = value.object()
            let (reason, timestamp) = (object["reason"], object["timestamp"])
            let text = reason.kind == .string ? reason.string() : nil
            return (
                text.flatMap { isPlainText($0) ? $0 : nil },
                timestamp.kind == .integer ? Int64(timestamp.int()) : nil
            )
        }
    }

    /// Whether the text has only letters, digits and blanks. Text from outside appears in labels and logs.
    private static func isPlainText(_ text: String) -> Bool {
        (1...reasonBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: " "):
                    true
                default: false
                }
            }
    }

    /// Returns the disposition of an answer without a known reason. Such an answer never costs a token.
    private static func disposition(ofStatus status: Int) -> ResponseDisposition {
        switch status {
        // The channel hosts answer 201 and 204.
        case 200...299: .accepted
        case 403: .appMisconfigured
        case 429: .tokenThrottled
        case 500...599: .serverTrouble
        default: .requestFaulty
        }
    }
}
