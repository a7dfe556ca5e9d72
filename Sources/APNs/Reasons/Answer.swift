package import JSON

/// What APNs said to one request, read and judged.
package struct Answer: Sendable, Hashable {
    package let status: Int
    /// The reason's text as it came, also where the table does not know it; nil when there was none.
    package let reasonText: String?
    package let reason: Reason?
    /// Milliseconds since 1970: when APNs found that the token was dead.
    package let timestamp: Int64?
    package let disposition: Disposition

    /// - Parameter body: as it came, possibly cut, possibly no JSON at all.
    package init(status: Int, body: some Collection<UInt8>, with reader: JSONReader) {
        self.status = status
        let content =
            (200...299).contains(status) || body.isEmpty ? nil : Answer.read(Array(body), with: reader)
        reasonText = content?.reason
        reason = content?.reason.flatMap { Reason(text: $0) }
        timestamp = content?.timestamp
        disposition = reason?.disposition ?? Answer.disposition(ofStatus: status)
    }

    /// Error bodies are short; longer ones are not read.
    private static let bodyBytesMax = 4096
    /// A reason goes into metrics and logs.
    private static let reasonBytesMax = 64

    private static func read(
        _ body: [UInt8], with reader: JSONReader
    ) -> (reason: String?, timestamp: Int64?)? {
        guard body.count <= bodyBytesMax else { return nil }
        return try? reader.read(body) { value in
            guard value.kind == .object else { return (nil, nil) }
            let object = value.object()
            let reason = object["reason"]
            let timestamp = object["timestamp"]
            let text = reason.kind == .string ? reason.string() : nil
            return (
                text.flatMap { isWord($0) ? $0 : nil },
                timestamp.kind == .integer ? Int64(timestamp.int()) : nil
            )
        }
    }

    /// Letters, digits and blanks only: what comes from outside stands in labels and logs.
    private static func isWord(_ text: String) -> Bool {
        (1...reasonBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == 0x20
            }
    }

    /// A status without a known reason. No token is ever dropped for one.
    private static func disposition(ofStatus status: Int) -> Disposition {
        switch status {
        // 201 and 204 come from the hosts of the channels.
        case 200...299: .accepted
        case 403: .appMisconfigured
        case 429: .tokenThrottled
        case 500...599: .serverTrouble
        default: .requestFaulty
        }
    }
}
