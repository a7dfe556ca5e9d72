internal import APNs
internal import HTTP2

/// The effect of a rule on a matching request: a request fault, a delay, a connection fault, or several of
/// them.
struct RuleEffect: Sendable, Hashable {
    /// The scripted form of `InjectedFault.RequestFault`.
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

/// The timestamp in an answer: the time since when the token is dead.
enum ScriptedTimestamp: Sendable, Hashable {
    /// Milliseconds since 1970.
    case at(Int64)
    /// Milliseconds after the request. Negative values are before it.
    case fromNow(milliseconds: Int)
}

extension RuleEffect.RequestFault {
    /// Returns the fault for one request.
    /// - Parameter time: the time of the request in milliseconds since 1970.
    func resolved(time: Int64) -> InjectedFault.RequestFault {
        switch self {
        case .reset(let code, let processed): .reset(code, processed: processed)
        case .silence(let processed): .silence(processed: processed)
        case .answer(let answer): answer.resolved(time: time)
        }
    }
}

extension ScriptedAnswer {
    fileprivate func resolved(time: Int64) -> InjectedFault.RequestFault {
        switch content {
        case .reason(let reason):
            .answer(
                status: status, reason: reason, timestamp: resolvedTimestamp(time: time),
                retryAfterSeconds: retryAfterSeconds)
        case .body(let body): .answerBody(status: status, body: body)
        }
    }

    /// Returns the timestamp in milliseconds since 1970. Every 410 of APNs has one, so without a scripted
    /// timestamp it is the time of the request.
    private func resolvedTimestamp(time: Int64) -> Int64? {
        switch timestamp {
        case nil: status == 410 ? time : nil
        case .at(let time): time
        case .fromNow(let milliseconds): time + Int64(milliseconds)
        }
    }
}
