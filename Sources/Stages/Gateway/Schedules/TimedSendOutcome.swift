internal import HTTPServer
internal import Schedules

/// The outcome of the command for a send for later, when its request is answered.
enum TimedSendOutcome {
    /// The timer is set. The value has its time and ids.
    case scheduled(ScheduleReply.ScheduledTimer)
    /// The scheduler refused the command. The value is the answer to the client.
    case refused(HTTPResponse)
    /// The command is stored, but the scheduler has not confirmed it yet.
    case underWay

    /// - Parameter reply: The scheduler's reply, or nil if it did not reply in time.
    init(_ reply: ScheduleReply.Outcome?) {
        switch reply {
        case .scheduled(let scheduled): self = .scheduled(scheduled)
        case .conflict: self = .refused(ScheduleResponse.idempotencyConflict)
        case .refused(let reason):
            self = .refused(.error(status: 422, code: "not_scheduled", message: reason))
        case .cancelled, .listed, nil: self = .underWay
        }
    }
}
