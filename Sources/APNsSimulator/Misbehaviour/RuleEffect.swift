internal import APNs
internal import HTTP2

/// What a rule does to the requests that it is about: a course, a delay, something to the connection, or
/// several of them.
struct RuleEffect: Sendable, Hashable {
    enum Course: Sendable, Hashable {
        case answer(ScriptedAnswer)
        case reset(ErrorCode, processed: Bool)
        case silence(processed: Bool)
    }

    var course: Course?
    var delay: DelayDistribution?
    var connection: Ruling.ConnectionFault?

    var isEmpty: Bool { course == nil && delay == nil && connection == nil }
}

/// An answer instead of the right one.
struct ScriptedAnswer: Sendable, Hashable {
    enum Content: Sendable, Hashable {
        /// The reason's text, of the table or not.
        case reason(String)
        /// Exactly this, possibly nothing.
        case body([UInt8])
    }

    var status: Int
    var content: Content
    var timestamp: ScriptedTimestamp?
    var retryAfterSeconds: Int?
}

/// The time that an answer says its token has been dead since.
enum ScriptedTimestamp: Sendable, Hashable {
    /// Milliseconds since 1970.
    case at(Int64)
    /// Milliseconds after the request; below zero before it.
    case fromNow(milliseconds: Int)
}

extension RuleEffect.Course {
    /// Every 410 of APNs has a timestamp; one that the script leaves out is the time of the request.
    /// - Parameter time: of the request, milliseconds since 1970.
    func resolved(time: Int64) -> Ruling.Course {
        switch self {
        case .reset(let code, let processed): return .reset(code, processed: processed)
        case .silence(let processed): return .silence(processed: processed)
        case .answer(let answer):
            guard case .reason(let reason) = answer.content else {
                guard case .body(let body) = answer.content else { return .judge }
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
