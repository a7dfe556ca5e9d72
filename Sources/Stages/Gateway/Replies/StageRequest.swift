internal import HTTPServer
internal import RecordFormat
internal import Schedules
internal import Sends

/// A request to another stage that replies: a command to the scheduler, or a send to the planner. The gateway stores its
/// records and waits for the reply. If no reply comes in time, the request is still carried out, and the answer says
/// that its outcome is not known yet.
struct StageRequest: Sendable {
    /// The record that carries the address for the reply.
    enum Subject: Sendable {
        case command(ScheduleCommand)
        /// - Parameter key: The record key of the send.
        case send(Send, key: [UInt8])
    }

    let subject: Subject
    /// The other records to store with it.
    let otherRecords: [OutgoingRecord]
    /// Makes the answer from the reply. The reply is nil if none came in time.
    let makeResponse: @Sendable (GatewayReply.Outcome?) -> HTTPResponse

    /// The longest wait for the reply, after the records are stored.
    var waitMilliseconds: Int {
        switch subject {
        case .command: GatewayLimits.schedulerReplyMilliseconds
        case .send: GatewayLimits.plannerReplyMilliseconds
        }
    }

    /// Returns all records to store, the subject last.
    ///
    /// - Parameter replyTo: The partition of `replies` and the name under which the asker waits for the reply.
    func records(replyTo: ReplyAddress?) -> [OutgoingRecord] {
        switch subject {
        case .command(var command):
            command.replyTo = replyTo
            return otherRecords + [
                OutgoingRecord(destination: .schedules, key: command.key, value: command.encoded())
            ]
        case .send(var send, let key):
            send.replyTo = replyTo
            return otherRecords + [OutgoingRecord(destination: .sends, key: key, value: send.encoded())]
        }
    }

    /// Returns the outcome of the request for metrics. A command is answered by the scheduler's reply. A send is accepted
    /// when it is stored, unless the planner's verdict refuses it.
    func outcome(of response: HTTPResponse, hasReply: Bool) -> RequestOutcome {
        switch subject {
        case .command: hasReply ? .answered : .underWay
        case .send: response.status < 300 ? .accepted : .refused
        }
    }
}
