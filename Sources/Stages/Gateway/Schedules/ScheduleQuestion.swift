internal import HTTPServer
internal import JSON
internal import LiveActivity

/// An order to the scheduler and the function that makes the client's answer. The order is stored like any
/// other record. If the scheduler does not reply in time, the order is still carried out, and the answer says
/// that it is under way.
struct ScheduleQuestion: Sendable {
    /// The order without the address for its reply.
    let order: ScheduleOrder
    /// The other records to store with the order.
    let others: [OutgoingRecord]
    /// Makes the answer from the reply. The reply is nil if the scheduler did not reply in time.
    let answer: @Sendable (ScheduleReply.Answer?) -> HTTPResponse

    /// Returns all records to store.
    func records(replyTo: ScheduleOrder.ReplyTo?) -> [OutgoingRecord] {
        var order = order
        order.replyTo = replyTo
        return others + [OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded())]
    }
}
