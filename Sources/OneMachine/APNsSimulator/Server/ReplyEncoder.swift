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
    private var refusals: [String: EncodedReply] = [:]
    /// Generates the values of `apns-unique-id`.
    private var uniqueIDs = RequestIDGenerator()

    /// A header block with a gap for the request's id, and the body.
    private struct EncodedReply {
        let template: ResponseTemplate
        var body: SharedBody?
    }

    /// Sends a reply. Returns false if the stream is gone.
    /// - Parameter hasUniqueID: whether a reply `accepted` carries an apns-unique-id.
    func send(_ reply: Reply, for exchange: Exchange, on session: ServerSession, hasUniqueID: Bool) -> Bool {
        let encoded = encode(reply, isPushToToken: exchange.isPushToToken, hasUniqueID: hasUniqueID)
        return exchange.id.withText { id in
            session.respond(
                to: exchange.stream, template: encoded.template, varying: id,
                body: exchange.omitsBody ? nil : encoded.body)
        }
    }

    /// - Parameter isPushToToken: whether the request was a push to one device token. Its id is sent back in
    ///   `apns-id`, the id of every other request in `apns-request-id`.
    private func encode(_ reply: Reply, isPushToToken: Bool, hasUniqueID: Bool) -> EncodedReply {
        switch reply {
        case .accepted:
            guard hasUniqueID else {
                return EncodedReply(template: isPushToToken ? acceptedPush : acceptedOther)
            }
            let id = HeaderField(
                name: "apns-unique-id", value: uniqueIDs.next().description, isIndexed: false)
            return EncodedReply(
                template: Self.template(status: 200, headers: [id], isPushToToken: isPushToToken))
        case .refused(let status, let reason, let timestamp, let retryAfter):
            guard timestamp == nil, retryAfter == nil else {
                let headers = retryAfter.map { [HeaderField(name: "retry-after", value: String($0))] } ?? []
                return EncodedReply(
                    template: Self.template(status: status, headers: headers, isPushToToken: isPushToToken),
                    body: SharedBody(copying: Self.body(reason: reason, timestamp: timestamp).span))
            }
            return encodeRefusal(status: status, reason: reason, isPushToToken: isPushToToken)
        case .body(let status, let body):
            return EncodedReply(
                template: Self.template(status: status, headers: [], isPushToToken: isPushToToken),
                body: SharedBody(copying: body.span))
        case .channel(let status, let channel, let body):
            let headers =
                channel.map { [HeaderField(name: "apns-channel-id", value: $0, isIndexed: false)] } ?? []
            return EncodedReply(
                template: Self.template(status: status, headers: headers, isPushToToken: false),
                body: SharedBody(copying: body.span))
        }
    }

    /// Encodes a refusal without a timestamp and a `retry-after`, or returns it from the cache.
    private func encodeRefusal(status: Int, reason: String, isPushToToken: Bool) -> EncodedReply {
        let key = "\(isPushToToken)\(status)\(reason)"
        if let cached = refusals[key] { return cached }
        let encoded = EncodedReply(
            template: Self.template(status: status, headers: [], isPushToToken: isPushToToken),
            body: SharedBody(copying: Self.body(reason: reason, timestamp: nil).span))
        if refusals.count >= Self.refusalsMax { refusals.removeAll() }
        refusals[key] = encoded
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
