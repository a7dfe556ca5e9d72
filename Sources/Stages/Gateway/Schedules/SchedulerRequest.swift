internal import HTTPServer
internal import JSON
internal import LiveActivity

/// An order to the scheduler and the function that makes the client's answer. The order is stored like any
/// other record. If the scheduler does not reply in time, the order is still carried out, and the answer says
/// that it is under way.
struct SchedulerRequest: Sendable {
    /// The order without the address for its reply.
    let order: ScheduleCommand
    /// The other records to store with the order.
    let otherRecords: [OutgoingRecord]
    /// Makes the answer from the reply. The reply is nil if the scheduler did not reply in time.
    let makeResponse: @Sendable (ScheduleReply.Outcome?) -> HTTPResponse

    /// Returns all records to store.
    func records(replyTo: ScheduleCommand.ReplyAddress?) -> [OutgoingRecord] {
        var order = order
        order.replyTo = replyTo
        return otherRecords + [
            OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded())
        ]
    }
}
