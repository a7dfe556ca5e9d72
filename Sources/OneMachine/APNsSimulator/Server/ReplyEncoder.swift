internal import APNs
internal import HTTP2
internal import JSON

/// Encodes replies and sends them. The header blocks and bodies of frequent replies are encoded once
/// (`ResponseTemplate`, `SharedBody`), and only the request's id differs.
///
/// It is confined to the simulator's event loop.
final class ReplyEncoder {
    /// Limit on cached refusals. At the limit, for example if a script has endless reasons, the cache is
    /// emptied.
    private static let refusalsMax = 1_000

    private let acceptedDirect = ReplyEncoder.template(status: 200, headers: [], isDirect: true)
    private let acceptedIndirect = ReplyEncoder.template(status: 200, headers: [], isDirect: false)
    /// Refusals without a timestamp and a `retry-after`, by the values that differ.
    private var refusals: [String: (template: ResponseTemplate, body: SharedBody)] = [:]
    private var uniqueIDs = RequestIDGenerator()

    /// Sends a reply. Returns false if the stream is gone.
    /// - Parameter hasUniqueID: whether a reply `accepted` carries an apns-unique-id.
    func send(_ reply: Reply, for exchange: Exchange, on session: ServerSession, hasUniqueID: Bool) -> Bool {
        let (template, body) = parts(of: reply, isDirect: exchange.isDirect, hasUniqueID: hasUniqueID)
        return exchange.id.withText { id in
            session.respond(
                to: exchange.stream, template: template, varying: id, body: exchange.omitsBody ? nil : body)
        }
    }

    /// Returns the header block and the body of a reply.
    /// - Parameter isDirect: whether the request was a push to one device token. Its id is sent back in
    ///   `apns-id`, the id of every other request in `apns-request-id`.
    private func parts(of reply: Reply, isDirect: Bool, hasUniqueID: Bool) -> (ResponseTemplate, SharedBody?)
    {
        switch reply {
        case .accepted:
            guard hasUniqueID else { return (isDirect ? acceptedDirect : acceptedIndirect, nil) }
            let id = HeaderField(
                name: "apns-unique-id", value: uniqueIDs.next().description, isIndexed: false)
            return (Self.template(status: 200, headers: [id], isDirect: isDirect), nil)
        case .refused: return refusal(for: reply, isDirect: isDirect)
        case .body(let status, let body):
            return (
                Self.template(status: status, headers: [], isDirect: isDirect), SharedBody(copying: body.span)
            )
        case .channel(let status, let channel, let body):
            let headers =
                channel.map { [HeaderField(name: "apns-channel-id", value: $0, isIndexed: false)] } ?? []
            return (
                Self.template(status: status, headers: headers, isDirect: false),
                SharedBody(copying: body.span)
            )
        }
    }

    private func refusal(for reply: Reply, isDirect: Bool) -> (ResponseTemplate, SharedBody?) {
        guard case .refused(let status, let reason, let timestamp, let retryAfter) = reply else {
            preconditionFailure("not a refusal")
        }
        let isCacheable = timestamp == nil && retryAfter == nil
        let key = isCacheable ? "\(isDirect)\(status)\(reason)" : ""
        if isCacheable, let cached = refusals[key] { return cached }
        let headers = retryAfter.map { [HeaderField(name: "retry-after", value: String($0))] } ?? []
        let encoded = (
            Self.template(status: status, headers: headers, isDirect: isDirect),
            SharedBody(copying: Self.body(reason: reason, timestamp: timestamp).span)
        )
        if isCacheable {
            if refusals.count >= Self.refusalsMax { refusals.removeAll() }
            refusals[key] = encoded
        }
        return encoded
    }

    /// Returns the body of a refusal or of a GOAWAY, such as `{"reason": "BadPath"}`.
    static func body(reason: String, timestamp: Int64?) -> [UInt8] {
        var writer = JSONWriter(capacity: 128)
        writer.beginObject()
        writer.name("reason")
        writer.value(reason)
        if let timestamp {
            writer.name("timestamp")
            writer.value(timestamp)
        }
        writer.endObject()
        return writer.bytes
    }

    private static func template(status: Int, headers: [HeaderField], isDirect: Bool) -> ResponseTemplate {
        do {
            return try ResponseTemplate(
                status: min(max(status, 200), 599), headers: headers,
                varying: isDirect ? "apns-id" : "apns-request-id")
        } catch {
            preconditionFailure("a header of the simulator is invalid: \(error)")
        }
    }
}
