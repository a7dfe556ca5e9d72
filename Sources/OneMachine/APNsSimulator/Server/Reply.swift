internal import APNs

/// The answer to one request, before `ReplyEncoder` encodes it in HTTP/2 frames.
enum Reply: Equatable {
    /// 200 without a body.
    case accepted
    /// A body with a reason. `timestamp` is the time since when a token is dead, in milliseconds since 1970.
    case refused(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
    /// Exactly these bytes, from a fault script.
    case body(status: Int, bytes: [UInt8])
    /// The answer to a channel request. `id` is the id of a new channel.
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

    /// The reason of a refusal, nil for another answer.
    var reason: String? {
        if case .refused(_, let reason, _, _) = self { reason } else { nil }
    }
}
