internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity

/// What a send for later becomes: an order to the scheduler, which holds the whole send, its id included. So what
/// fires is the same however often the order is read.
struct TimedSend: Sendable {
    /// What the place of the reply adds to an order's record at most.
    private static let replyBytesMax = 200

    /// Its path: the same idempotency key on another route is another request.
    let route: String
    let lanes: Int

    /// What is asked for, beside the send.
    struct Wish: Sendable {
        let time: SendTime
        /// Nil: the send's id.
        var id: String?
        var name: String?
        /// Which of the request's fields holds the content, for what is too large.
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
                    "and whom it is for may take \(ScheduleOrder.bytesMax / 1000) kB in a send for later; name a segment instead of users"
                )
            ])
        }
        // What phones schedule for themselves stands in the orders, as what they report stands in the reports.
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

/// What is known of a send for later when its request is answered.
enum TimedOutcome {
    case scheduled(ScheduleReply.Scheduled)
    case refused(HTTPResponse)
    /// Stored; the scheduler has not said yet that it has it.
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
