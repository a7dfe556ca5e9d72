internal import APNs
internal import HTTP2
internal import JSON

/// The answer to one request, before it is encoded in frames.
enum Reply: Equatable {
    /// 200 without a body.
    case accepted
    case refused(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
    /// Exactly these bytes.
    case body(status: Int, [UInt8])
    case channel(status: Int, id: String?, body: [UInt8])

    init(_ reason: Reason, since timestamp: Int64? = nil) {
        self = .refused(
            status: reason.status, reason: reason.rawValue, timestamp: timestamp, retryAfterSeconds: nil)
    }

    init(_ result: Result<ChannelAnswer, Judge.Refusal>) {
        switch result {
        case .success(let answer):
            self = .channel(status: answer.status, id: answer.channelID, body: answer.body)
        case .failure(let refusal): self.init(refusal.reason)
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
final class ReplyFrames {
    /// Limit on cached refusals. At the limit, for example if a script has endless reasons, the cache is
    /// emptied.
    private static let refusalsMax = 1_000

    private let accepted: [AnswerTemplate]
    private var refusals: [String: (template: AnswerTemplate, body: SharedBody)] = [:]
    private var uniqueIDs = RequestIDs()

    /// Returns `apns-id` for a direct push and `apns-request-id` for channels.
    private static func idField(isDirect: Bool) -> String { isDirect ? "apns-id" : "apns-request-id" }

    init() {
        accepted = [true, false].map { Self.template(200, [], isDirect: $0) }
    }

    /// Sends a reply. Returns false if the stream is gone.
    /// - Parameter isUnique: whether the answer carries an apns-unique-id.
    func answer(_ reply: Reply, to exchange: Exchange, of session: ServerSession, isUnique: Bool) -> Bool {
        let (template, body) = parts(reply, isDirect: exchange.isDirect, isUnique: isUnique)
        return exchange.id.withText { id in
            session.answer(
                exchange.stream, template, varying: id, body: exchange.isBodiless ? nil : body)
        }
    }

    private func parts(_ reply: Reply, isDirect: Bool, isUnique: Bool) -> (AnswerTemplate, SharedBody?) {
        switch reply {
        case .accepted:
            guard isUnique else { return (accepted[isDirect ? 0 : 1], nil) }
            let id = HeaderField("apns-unique-id", uniqueIDs.next().description, isIndexed: false)
            return (Self.template(200, [id], isDirect: isDirect), nil)
        case .refused: return refusal(reply, isDirect: isDirect)
        case .body(let status, let body):
            return (Self.template(status, [], isDirect: isDirect), SharedBody(body.span))
        case .channel(let status, let channel, let body):
            let headers = channel.map { [HeaderField("apns-channel-id", $0, isIndexed: false)] } ?? []
            return (Self.template(status, headers, isDirect: false), SharedBody(body.span))
        }
    }

    private func refusal(_ reply: Reply, isDirect: Bool) -> (AnswerTemplate, SharedBody?) {
        guard case .refused(let status, let reason, let timestamp, let retryAfter) = reply else {
            preconditionFailure("not a refusal")
        }
        let isPlain = timestamp == nil && retryAfter == nil
        let key = isPlain ? "\(isDirect)\(status)\(reason)" : ""
        if isPlain, let made = refusals[key] { return made }
        let headers = retryAfter.map { [HeaderField("retry-after", String($0))] } ?? []
        let made = (
            Self.template(status, headers, isDirect: isDirect),
            SharedBody(Self.body(reason, timestamp).span)
        )
        if isPlain {
            if refusals.count >= Self.refusalsMax { refusals.removeAll() }
            refusals[key] = made
        }
        return made
    }

    static func body(_ reason: String, _ timestamp: Int64?) -> [UInt8] {
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

    private static func template(_ status: Int, _ headers: [HeaderField], isDirect: Bool) -> AnswerTemplate {
        do {
            return try AnswerTemplate(
                status: min(max(status, 200), 599), headers: headers, varying: idField(isDirect: isDirect))
        } catch {
            preconditionFailure("a header of the simulator is invalid: \(error)")
        }
    }
}
