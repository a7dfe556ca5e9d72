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
    /// The part of the request that is not the send.
    struct RequestedSchedule: Sendable {
        let time: SendTime
        /// The id of the schedule. Nil uses the send's id.
        var id: String?
        /// A name for people, and for reports of taps.
        var name: String?
        /// The field of the request that holds the content. An error about the size names it.
        let contentField: String
    }

    /// The most bytes that the reply address adds to a command's record.
    private static let replyAddressBytesMax = 200

    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let lanes: Int

    /// Returns the decision to ask the scheduler, or throws if the command is too large.
    ///
    /// - Parameter makeResponse: Makes the answer from the scheduler's reply.
    func decide(
        _ validated: SendValidator.ValidatedSend, schedule requested: RequestedSchedule,
        idempotency: Idempotency?, in context: RequestContext,
        makeResponse: @escaping @Sendable (Send, TimedSendOutcome) -> HTTPResponse
    ) throws(RefusedRequest) -> RequestDecision {
        guard let owner = ScheduleOwner(of: validated.send) else {
            // Never reached, because a validated send has a group or an activity.
            throw RefusedRequest([RequestProblem(code: "invalid", at: "", message: "names no group")])
        }
        var send = validated.send
        (send.requestID, send.author) = (context.requestID, context.author)
        send.id = makeID(of: validated.scopeKey, owner: owner, idempotency: idempotency, in: context).text
        var schedule = Schedule(
            id: requested.id ?? send.id, name: requested.name, activity: activity(of: validated.scopeKey),
            dueTime: requested.time.dueTime, send: send)
        schedule.latenessMillisecondsMax = requested.time.latenessMillisecondsMax
        schedule.idempotency = idempotency
        let command = context.scheduleCommand(.schedule(schedule), of: owner, acceptedAt: send.acceptedAt)
        try checkSize(of: command, contentField: requested.contentField)
        // A dry run changes nothing, so the audit does not list it.
        let auditRecords =
            send.isDryRun ? [] : context.auditRecords(ofScheduleAction: "schedule", subject: send.id)
        return .askStage(
            StageRequest(subject: .command(command), otherRecords: auditRecords) { [send] reply in
                makeResponse(send, TimedSendOutcome(reply, of: send.id))
            })
    }

    /// Refuses a command that does not fit into a record with its reply address.
    private func checkSize(of command: ScheduleCommand, contentField: String) throws(RefusedRequest) {
        if command.encoded().count <= ScheduleCommand.bytesMax - Self.replyAddressBytesMax { return }
        // The message follows the field's name: "contentState and the audience may together take…".
        throw RefusedRequest([
            RequestProblem(
                code: "too_large", at: contentField,
                message:
                    "and the audience may together take \(ScheduleCommand.bytesMax / 1000) kB in a send for later; use a segment instead of users"
            )
        ])
    }

    /// Makes the id of the send. It names the partitions of `sends.timed` and `timers`.
    private func makeID(
        of key: ScopeKey, owner: ScheduleOwner, idempotency: Idempotency?, in context: RequestContext
    ) -> SendID {
        let partition = Murmur2.partition(forKey: key.bytes.span, partitionCount: lanes)
        let timersPartition = Murmur2.partition(
            forKey: owner.key(app: context.app.id).span, partitionCount: lanes)
        return SendID(
            idempotency: idempotency, route: route, scope: key, partition: partition,
            timersPartition: timersPartition, now: context.now)
    }

    /// The name by which the caller selects the schedule: the group or the activity.
    private func activity(of key: ScopeKey) -> String {
        switch key.subject {
        case .group(let name), .activity(let name): name
        }
    }
}
