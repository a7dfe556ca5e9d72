internal import HTTPServer
internal import JSON
internal import LiveActivity

/// An order to the scheduler, and what its client hears. The order stands in its topic like any other record: when
/// the scheduler does not answer in time it is carried out all the same, and the client hears that it is under way.
struct ScheduleQuestion: Sendable {
    /// Without the place of its reply.
    let order: ScheduleOrder
    /// What is stored beside it.
    let others: [OutgoingRecord]
    /// Nil: the scheduler has not answered in time.
    let answer: @Sendable (ScheduleReply.Answer?) -> HTTPResponse

    /// All that is to be stored.
    func records(replyTo: ScheduleOrder.ReplyTo?) -> [OutgoingRecord] {
        var order = order
        order.replyTo = replyTo
        return others + [OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded())]
    }
}
