internal import HTTPServer
internal import Schedules

/// The outcome of the command for a send for later, when its request is answered.
enum TimedSendOutcome {
    /// The timer is set. The value has its time and ids.
    case scheduled(GatewayReply.ScheduledTimer)
    /// The scheduler refused the command. The value is the answer to the client.
    case refused(HTTPResponse)
    /// The command is stored, but the scheduler has not confirmed it yet.
    case underWay

    /// - Parameters:
    ///   - reply: The scheduler's reply, or nil if it did not reply in time.
    ///   - send: The id of the request's send.
    init(_ reply: GatewayReply.Outcome?, of send: String) {
        switch reply {
        case .scheduled(let scheduled): self = .scheduled(scheduled)
        case .conflict(let first):
            // A scheduler of an earlier version does not name the first send.
            let firstSend = first.isEmpty ? send : first
            self = .refused(RefusedRequest.idempotencyConflict(with: .send(firstSend)).response)
        case .refused(let reason):
            self = .refused(.error(status: 422, code: "not_scheduled", message: reason))
        // Only nil occurs here. The other outcomes are replies to other requests.
        case .cancelled, .listed, .verdict, nil: self = .underWay
        }
    }
}
