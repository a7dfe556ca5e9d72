internal import APNs
internal import HTTP2
internal import JSON

/// The answer to one request, before it is encoded in frames.
enum Reply: Equatable {
    /// 200 without a body.
    case accepted
    case refused(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
    /// Exactly these bytes.
    case body(status: Int, bytes: [UInt8])
    case channel(status: Int, id: String?, body: [UInt8])

    init(refusal reason: APNsReason, since timestamp: Int64? = nil) {
        self = .refused(
            status: reason.status, reason: reason.rawValue, timestamp: timestamp, retryAfterSeconds: nil)
    }

    init(channelResult result: Result<ChannelAnswer, RequestValidator.Refusal>) {
        switch result {
        case .success(let answer):
            self = .channel(status: answer.status, id: answer.channelID, body: answer.body)
        case .failure(let refusal): self.init(refusal: refusal.reason)
        }
    }

    var status: Int {
        switch self {
        case .accepted: 200
        case .refused(let status, _, _, _), .body(let status, _), .channel(let status, _, _): status
        }
    }

    var reason: String? {
        if case .refused(_, let reason, _, _) = self { reason } else { nil }
    }
}

/// Encodes replies. Repeated header blocks and bodies are encoded once.
///
/// It is confined to the simulator's event loop, like the templates.
final class ReplyEncoder {
    /// Limit on cached refusals. At the limit, for example if a script has endless reasons, the cache is
    /// emptied.
    private static let refusalsMax = 1_000

    private let accepted: [ResponseTemplate]
    private var refusals: [String: (template: ResponseTemplate, body: SharedBody)] = [:]
    private var uniqueIDs = RequestIDGenerator()

    /// Returns `apns-id` for a direct push and `apns-request-id` for channels.
    private static func idField(isDirect: Bool) -> String { isDirect ? "apns-id" : "apns-request-id" }

    init() {
        accepted = [true, false].map { Self.template(status: 200, headers: [], isDirect: $0) }
    }

    /// Sends a reply. Returns false if the stream is gone.
    /// - Parameter isUnique: whether the answer carries an apns-unique-id.
    func send(_ reply: Reply, for exchange: Exchange, on session: ServerSession, hasUniqueID: Bool) -> Bool {
        let (template, body) = parts(of: reply, isDirect: exchange.isDirect, hasUniqueID: hasUniqueID)
        return exchange.id.withText { id in
            session.respond(
                to: exchange.stream, template: template, varying: id, body: exchange.omitsBody ? nil : body)
        }
    }

    private func parts(of reply: Reply, isDirect: Bool, hasUniqueID: Bool) -> (ResponseTemplate, SharedBody?)
    {
        switch reply {
        case .accepted:
            guard hasUniqueID else { return (accepted[isDirect ? 0 : 1], nil) }
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
        let isPlain = timestamp == nil && retryAfter == nil
        let key = isPlain ? "\(isDirect)\(status)\(reason)" : ""
        if isPlain, let made = refusals[key] { return made }
        let headers = retryAfter.map { [HeaderField(name: "retry-after", value: String($0))] } ?? []
        let made = (
            Self.template(status: status, headers: headers, isDirect: isDirect),
            SharedBody(copying: Self.body(reason: reason, timestamp: timestamp).span)
        )
        if isPlain {
            if refusals.count >= Self.refusalsMax { refusals.removeAll() }
            refusals[key] = made
        }
        return made
    }

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
                status: min(max(status, 200), 599), headers: headers, varying: idField(isDirect: isDirect))
        } catch {
            preconditionFailure("a header of the simulator is invalid: \(error)")
        }
    }
}
