internal import APNs
internal import HTTP2
internal import JSON

/// The encoder of replies, which also sends them. The header block and the body of a frequent reply are encoded
/// once (`ResponseTemplate`, `SharedBody`) and kept. Each answer then only inserts the request's id.
///
/// It is confined to the simulator's event loop.
final class ReplyEncoder {
    /// Limit on cached refusals. At the limit the cache is emptied, because a script can have any number of
    /// reasons.
    private static let refusalsMax = 1_000

    /// The header block of an accepted push to a token.
    private let acceptedPush = ReplyEncoder.template(status: 200, headers: [], isPushToToken: true)
    /// The header block of an accepted request of any other kind.
    private let acceptedOther = ReplyEncoder.template(status: 200, headers: [], isPushToToken: false)
    /// Encoded refusals without a timestamp and a `retry-after`. The key joins the three values that differ.
    private var refusals: [String: (template: ResponseTemplate, body: SharedBody)] = [:]
    /// Generates the values of `apns-unique-id`.
    private var uniqueIDs = RequestIDGenerator()

    /// Sends a reply. Returns false if the stream is gone.
    /// - Parameter hasUniqueID: whether a reply `accepted` carries an apns-unique-id.
    func send(_ reply: Reply, for exchange: Exchange, on session: ServerSession, hasUniqueID: Bool) -> Bool {
        let (template, body) = parts(of: reply, isPushToToken: exchange.isDirect, hasUniqueID: hasUniqueID)
        return exchange.id.withText { id in
            session.respond(
                to: exchange.stream, template: template, varying: id, body: exchange.omitsBody ? nil : body)
        }
    }

    /// Returns the header block and the body of a reply.
    /// - Parameter isPushToToken: whether the request was a push to one device token. Its id is sent back in
    ///   `apns-id`, the id of every other request in `apns-request-id`.
    private func parts(of reply: Reply, isPushToToken: Bool, hasUniqueID: Bool) -> (
        ResponseTemplate, SharedBody?
    ) {
        switch reply {
        case .accepted:
            guard hasUniqueID else { return (isPushToToken ? acceptedPush : acceptedOther, nil) }
            let id = HeaderField(
                name: "apns-unique-id", value: uniqueIDs.next().description, isIndexed: false)
            return (Self.template(status: 200, headers: [id], isPushToToken: isPushToToken), nil)
        case .refused: return refusal(for: reply, isPushToToken: isPushToToken)
        case .body(let status, let body):
            return (
                Self.template(status: status, headers: [], isPushToToken: isPushToToken),
                SharedBody(copying: body.span)
            )
        case .channel(let status, let channel, let body):
            let headers =
                channel.map { [HeaderField(name: "apns-channel-id", value: $0, isIndexed: false)] } ?? []
            return (
                Self.template(status: status, headers: headers, isPushToToken: false),
                SharedBody(copying: body.span)
            )
        }
    }

    /// Returns the header block and the body of a `Reply.refused`, from the cache if possible.
    private func refusal(for reply: Reply, isPushToToken: Bool) -> (ResponseTemplate, SharedBody?) {
        guard case .refused(let status, let reason, let timestamp, let retryAfter) = reply else {
            preconditionFailure("not a refusal")
        }
        let isCacheable = timestamp == nil && retryAfter == nil
        let key = isCacheable ? "\(isPushToToken)\(status)\(reason)" : ""
        if isCacheable, let cached = refusals[key] { return cached }
        let headers = retryAfter.map { [HeaderField(name: "retry-after", value: String($0))] } ?? []
        let encoded = (
            Self.template(status: status, headers: headers, isPushToToken: isPushToToken),
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

    /// The statuses of final answers in HTTP.
    private static let statuses = 200...599

    /// Encodes a header block, with a gap for the request's id. A status from a script that is not valid becomes the
    /// nearest valid one.
    private static func template(status: Int, headers: [HeaderField], isPushToToken: Bool) -> ResponseTemplate
    {
        do {
            return try ResponseTemplate(
                status: min(max(status, statuses.lowerBound), statuses.upperBound), headers: headers,
                varying: isPushToToken ? "apns-id" : "apns-request-id")
        } catch {
            preconditionFailure("a header of the simulator is invalid: \(error)")
        }
    }
}
