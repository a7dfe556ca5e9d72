internal import APNs
internal import HTTP2

/// The effect of a rule on the matching requests: a course, a delay, a connection fault, or several of them.
struct RuleEffect: Sendable, Hashable {
    enum RequestFault: Sendable, Hashable {
        case answer(ScriptedAnswer)
        case reset(HTTP2ErrorCode, processed: Bool)
        case silence(processed: Bool)
    }

    var requestFault: RequestFault?
    var delay: DelayDistribution?
    var connectionFault: InjectedFault.ConnectionFault?

    var isEmpty: Bool { requestFault == nil && delay == nil && connectionFault == nil }
}

/// A scripted answer that replaces the correct one.
struct ScriptedAnswer: Sendable, Hashable {
    enum Content: Sendable, Hashable {
        /// The text of the reason, known or unknown.
        case reason(String)
        /// Exactly this body, which may be empty.
        case body([UInt8])
    }

    var status: Int
    var content: Content
    var timestamp: ScriptedTimestamp?
    var retryAfterSeconds: Int?
}

/// The time of the token's death in an answer.
enum ScriptedTimestamp: Sendable, Hashable {
    /// Milliseconds since 1970.
    case at(Int64)
    /// Milliseconds after the request. Negative values are before it.
    case fromNow(milliseconds: Int)
}

extension RuleEffect.RequestFault {
    /// Returns the course of a request. Every 410 of APNs has a timestamp, so the time of the request is used
    /// if the script gives none.
    /// - Parameter time: the time of the request in milliseconds since 1970.
    func resolved(time: Int64) -> InjectedFault.RequestFault {
        switch self {
        case .reset(let code, let processed): return .reset(code, processed: processed)
        case .silence(let processed): return .silence(processed: processed)
        case .answer(let answer):
            guard case .reason(let reason) = answer.content else {
                guard case .body(let body) = answer.content else { return .none }
                return .answerBody(status: answer.status, body: body)
            }
            let timestamp: Int64? =
                switch answer.timestamp {
                case nil: answer.status == 410 ? time : nil
                case .at(let time): time
                case .fromNow(let milliseconds): time + Int64(milliseconds)
                }
            return .answer(
                status: answer.status, reason: reason, timestamp: timestamp,
                retryAfterSeconds: answer.retryAfterSeconds)
        }
    }
}
