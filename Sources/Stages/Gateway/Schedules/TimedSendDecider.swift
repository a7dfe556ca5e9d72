internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity

/// The decision about a send for later: an order to the scheduler with the whole send and its id. The same
/// send fires however often the order is read.
struct TimedSendDecider: Sendable {
    /// The most bytes that the reply address adds to an order's record.
    private static let replyBytesMax = 200

    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let lanes: Int

    /// The requested schedule, beside the send.
    struct RequestedSchedule: Sendable {
        let time: SendTime
        /// The id of the schedule. Nil uses the send's id.
        var id: String?
        var name: String?
        /// The field of the request that holds the content. An error about the size names it.
        let contentField: String
    }

    func decide(
        _ judged: SendValidator.ValidatedSend, schedule wish: RequestedSchedule,
        idempotency: Idempotency?,
        in context: RequestContext, response: @escaping @Sendable (Send, TimedSendOutcome) -> HTTPResponse
    ) throws(RefusedRequest) -> RequestDecision {
        guard let owner = ScheduleOwner(of: judged.send) else {
            throw RefusedRequest([RequestProblem(code: "invalid", at: "", message: "names no group")])
        }
        var send = judged.send
        send.id = makeID(of: judged.key, owner: owner, idempotency: idempotency, in: context).text
        var schedule = Schedule(
            id: wish.id ?? send.id, name: wish.name, activity: activity(of: judged.key),
            dueTime: wish.time.when, send: send)
        schedule.latenessMillisecondsMax = wish.time.latenessMax
        schedule.idempotency = idempotency
        let order = ScheduleCommand(
            .schedule(schedule), app: context.app.id, owner: owner, acceptedAt: send.acceptedAt)
        if order.encoded().count > ScheduleCommand.bytesMax - Self.replyBytesMax {
            throw RefusedRequest([
                RequestProblem(
                    code: "too_large", at: wish.contentField,
                    message:
                        "and the audience may together take \(ScheduleCommand.bytesMax / 1000) kB in a send for later; use a segment instead of users"
                )
            ])
        }
        // Schedules from phones are not in the audit. They are in the orders, as reports are in `reports`.
        let others =
            context.role.includes(.send) ? [context.auditRecord(action: "schedule", subject: send.id)] : []
        return .askScheduler(
            SchedulerRequest(order: order, otherRecords: others) { [send] reply in
                response(send, TimedSendOutcome(reply))
            })
    }

    private func makeID(
        of key: ScopeKey, owner: ScheduleOwner, idempotency: Idempotency?, in context: RequestContext
    ) -> SendID {
        let partition = Murmur2.partition(forKey: key.bytes.span, partitionCount: lanes)
        let timersPartition = Murmur2.partition(
            forKey: owner.key(app: context.app.id).span, partitionCount: lanes)
        return SendID(
            idempotency: idempotency, route: route, group: key, partition: partition,
            timersPartition: timersPartition, now: context.now)
    }

    private func activity(of key: ScopeKey) -> String {
        switch key.subject {
        case .group(let name), .activity(let name): name
        }
    }
}

/// The outcome of a send for later at the time of its answer.
enum TimedSendOutcome {
    case scheduled(ScheduleReply.ScheduledTimer)
    case refused(HTTPResponse)
    /// The order is stored, but the scheduler has not confirmed it yet.
    case underWay

    init(_ reply: ScheduleReply.Outcome?) {
        switch reply {
        case .scheduled(let scheduled): self = .scheduled(scheduled)
        case .conflict: self = .refused(ScheduleResponse.idempotencyConflict)
        case .refused(let why): self = .refused(.error(status: 422, code: "not_scheduled", message: why))
        case .cancelled, .listed, nil: self = .underWay
        }
    }
}
