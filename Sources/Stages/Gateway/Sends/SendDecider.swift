internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// The decision about a send request: one record of `sends`, one of `audit`, and the answer. A send for later
/// becomes an order to the scheduler instead.
///
/// A request is stored completely or not at all. A body with any problem stores nothing.
struct SendDecider: Sendable {
    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let fields: SendFields
    let lanes: Int
    let draft: @Sendable (JSONValue, RequestContext) -> SendDraft

    func decide(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let root = try context.root()
        let idempotency = try Idempotency(headers: context.headers, body: root)
        let draft = draft(root, context)
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: fields)
        let validated = try validator.validate(draft, afterReading: context.problems)
        if let time = draft.time {
            let schedule = TimedSendDecider.RequestedSchedule(time: time, contentField: fields.contentState)
            return try TimedSendDecider(route: route, lanes: lanes).decide(
                validated, schedule: schedule, idempotency: idempotency, in: context
            ) { send, outcome in
                SendResponse.accepted(send, validated: validated, later: outcome)
            }
        }
        let key = validated.key.bytes
        let partition = Murmur2.partition(forKey: key.span, partitionCount: lanes)
        // A dry run and a real send with one key are two requests, because each has its own progress.
        let id = SendID(
            idempotency: idempotency, route: validated.send.isDryRun ? "\(route) dry run" : route,
            group: validated.key, partition: partition, now: context.now)
        var send = validated.send
        send.id = id.text
        send.fingerprint = idempotency?.fingerprint
        let records = [
            context.auditRecord(action: "send.\(send.content.event.rawValue)", subject: id.text),
            OutgoingRecord(destination: .sends, key: key, value: send.encoded()),
        ]
        return .store(records, SendResponse.accepted(send, validated: validated))
    }

    /// Returns the records that cancel a send. The cancel uses the key of the send, so Kafka orders it after
    /// the send.
    ///
    /// - Parameter timer: The owner of the timer if the send waits for its time. Then the scheduler gets a
    ///   cancel, too. If one of the two cancels comes too late, the other one still works.
    static func cancelRecords(
        of id: SendID, key: ScopeKey, recipient: Recipient?, timer: ScheduleOwner?, in context: RequestContext
    ) -> [OutgoingRecord] {
        let cancel = Cancellation(
            send: id.text, app: context.app.id, key: key, recipient: recipient,
            acceptedAt: max(0, context.now.milliseconds))
        var records = [
            context.auditRecord(action: "send.cancel", subject: id.text),
            OutgoingRecord(destination: .sends, key: key.bytes, value: cancel.encoded()),
        ]
        if let timer {
            let order = ScheduleCommand(
                .cancel(.send(id.text)), app: context.app.id, owner: timer, acceptedAt: cancel.acceptedAt)
            records.append(OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded()))
        }
        return records
    }
}
