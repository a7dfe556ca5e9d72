internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Sends

/// The decision about a send for later: a command to the scheduler with the whole send and its id. Every
/// repetition of the command names the same send, so it fires once.
struct TimedSendDecider: Sendable {
    /// The most bytes that the reply address adds to a command's record.
    private static let replyBytesMax = 200

    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let lanes: Int

    /// The part of the request that is not the send.
    struct RequestedSchedule: Sendable {
        let time: SendTime
        /// The id of the schedule. Nil uses the send's id.
        var id: String?
        var name: String?
        /// The field of the request that holds the content. An error about the size names it.
        let contentField: String
    }

    func decide(
        _ validated: SendValidator.ValidatedSend, schedule requested: RequestedSchedule,
        idempotency: Idempotency?, in context: RequestContext,
        makeResponse: @escaping @Sendable (Send, TimedSendOutcome) -> HTTPResponse
    ) throws(RefusedRequest) -> RequestDecision {
        guard let owner = ScheduleOwner(of: validated.send) else {
            throw RefusedRequest([RequestProblem(code: "invalid", at: "", message: "names no group")])
        }
        var send = validated.send
        send.id = makeID(of: validated.scopeKey, owner: owner, idempotency: idempotency, in: context).text
        var schedule = Schedule(
            id: requested.id ?? send.id, name: requested.name, activity: activity(of: validated.scopeKey),
            dueTime: requested.time.dueTime, send: send)
        schedule.latenessMillisecondsMax = requested.time.latenessMillisecondsMax
        schedule.idempotency = idempotency
        let command = context.scheduleCommand(.schedule(schedule), of: owner, acceptedAt: send.acceptedAt)
        if command.encoded().count > ScheduleCommand.bytesMax - Self.replyBytesMax {
            throw RefusedRequest([
                RequestProblem(
                    code: "too_large", at: requested.contentField,
                    message:
                        "and the audience may together take \(ScheduleCommand.bytesMax / 1000) kB in a send for later; use a segment instead of users"
                )
            ])
        }
        // A schedule from a phone has no audit record. Its command stays in `schedules`, as a report stays in
        // `reports`, and names the key and the address.
        let auditRecords =
            context.role.includes(.send) ? [context.auditRecord(action: "schedule", subject: send.id)] : []
        return .askScheduler(
            SchedulerRequest(command: command, otherRecords: auditRecords) { [send] reply in
                makeResponse(send, TimedSendOutcome(reply))
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

    /// The name by which the caller selects the schedule: the group or the activity.
    private func activity(of key: ScopeKey) -> String {
        switch key.subject {
        case .group(let name), .activity(let name): name
        }
    }
}

/// The outcome of the command for a send for later, when its request is answered.
enum TimedSendOutcome {
    case scheduled(ScheduleReply.ScheduledTimer)
    case refused(HTTPResponse)
    /// The command is stored, but the scheduler has not confirmed it yet.
    case underWay

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
