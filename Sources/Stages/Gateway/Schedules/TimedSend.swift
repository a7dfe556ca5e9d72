internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity

/// The decision about a send for later: an order to the scheduler with the whole send and its id. The same
/// send fires however often the order is read.
struct TimedSend: Sendable {
    /// The most bytes that the reply address adds to an order's record.
    private static let replyBytesMax = 200

    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let lanes: Int

    /// The requested schedule, beside the send.
    struct Wish: Sendable {
        let time: SendTime
        /// The id of the schedule. Nil uses the send's id.
        var id: String?
        var name: String?
        /// The field of the request that holds the content. An error about the size names it.
        let contentField: String
    }

    func decide(
        _ judged: SendJudge.Judged, as wish: Wish, idempotency: Schedule.Idempotency?,
        in context: RequestContext, answer: @escaping @Sendable (Send, TimedOutcome) -> HTTPResponse
    ) throws(RefusedRequest) -> RequestDecision {
        guard let owner = ScheduleOwner(of: judged.send) else {
            throw RefusedRequest([RequestProblem("invalid", at: "", "names no group")])
        }
        var send = judged.send
        send.id = id(of: judged.key, owner: owner, idempotency: idempotency, context).text
        var schedule = Schedule(
            id: wish.id ?? send.id, name: wish.name, activity: activity(judged.key), wish.time.when, send)
        schedule.latenessMax = wish.time.latenessMax
        schedule.idempotency = idempotency
        let order = ScheduleOrder(
            .schedule(schedule), app: context.app.id, owner: owner, acceptedAt: send.acceptedAt)
        if order.encoded().count > ScheduleOrder.bytesMax - Self.replyBytesMax {
            throw RefusedRequest([
                RequestProblem(
                    "too_large", at: wish.contentField,
                    "and the audience may together take \(ScheduleOrder.bytesMax / 1000) kB in a send for later; use a segment instead of users"
                )
            ])
        }
        // Schedules from phones are not in the audit. They are in the orders, as reports are in `reports`.
        let others = context.role.includes(.send) ? [context.audit("schedule", subject: send.id)] : []
        return .ask(
            ScheduleQuestion(order: order, others: others) { [send] reply in
                answer(send, TimedOutcome(reply))
            })
    }

    private func id(
        of key: GroupKey, owner: ScheduleOwner, idempotency: Schedule.Idempotency?, _ context: RequestContext
    ) -> SendID {
        let partition = Murmur2.partition(of: key.bytes.span, of: lanes)
        let timers = Murmur2.partition(of: owner.key(app: context.app.id).span, of: lanes)
        guard let idempotency else {
            return SendID.random(partition: partition, timers: timers, now: context.now)
        }
        return SendID.derived(
            from: idempotency.key, route: route, group: key, partition: partition, timers: timers)
    }

    private func activity(_ key: GroupKey) -> String {
        switch key.subject {
        case .group(let name), .activity(let name): name
        }
    }
}

/// The outcome of a send for later at the time of its answer.
enum TimedOutcome {
    case scheduled(ScheduleReply.Scheduled)
    case refused(HTTPResponse)
    /// The order is stored, but the scheduler has not confirmed it yet.
    case underWay

    init(_ reply: ScheduleReply.Answer?) {
        switch reply {
        case .scheduled(let scheduled): self = .scheduled(scheduled)
        case .conflict: self = .refused(ScheduleAnswer.conflict)
        case .refused(let why): self = .refused(.error(422, "not_scheduled", message: why))
        case .canceled, .listed, nil: self = .underWay
        }
    }
}
