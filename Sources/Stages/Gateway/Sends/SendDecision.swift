internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// The decision about a send request: one record of `sends`, one of `audit`, and the answer. A send for later
/// becomes an order to the scheduler instead.
///
/// A request is stored completely or not at all. A body with any problem stores nothing.
struct SendDecision: Sendable {
    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    let fields: SendFields
    let lanes: Int
    let draft: @Sendable (JSONValue, RequestContext) -> SendDraft

    func decide(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let idempotencyKey = try IdempotencyKey.of(context.headers)
        let root = try context.root()
        let draft = draft(root, context)
        let fingerprint = idempotencyKey.map { _ in BodyDigest.of(root) }
        let judge = SendJudge(app: context.app, catalog: context.catalog, now: context.now, fields: fields)
        let judged = try judge.judge(draft, afterReading: context.problems)
        if let time = draft.time {
            let wish = TimedSend.Wish(time: time, contentField: fields.contentState)
            let idempotency = idempotencyKey.flatMap { key in
                fingerprint.map { Schedule.Idempotency(key: key, fingerprint: $0) }
            }
            return try TimedSend(route: route, lanes: lanes).decide(
                judged, as: wish, idempotency: idempotency, in: context
            ) { send, outcome in
                SendAnswer.accepted(send, judged, later: outcome)
            }
        }
        let key = judged.key.bytes
        let partition = Murmur2.partition(of: key.span, of: lanes)
        let id =
            idempotencyKey.map {
                // A dry run and a real send with one key are two requests, because each has its own progress.
                SendID.derived(
                    from: $0, route: judged.send.dryRun ? "\(route) dry run" : route, group: judged.key,
                    partition: partition)
            } ?? SendID.random(partition: partition, now: context.now)
        var send = judged.send
        send.id = id.text
        send.fingerprint = fingerprint
        let records = [
            context.audit("send.\(send.content.event.rawValue)", subject: id.text),
            OutgoingRecord(destination: .sends, key: key, value: send.encoded()),
        ]
        return .store(records, SendAnswer.accepted(send, judged))
    }

    /// Returns the records that cancel a send. The cancel uses the key of the send, so Kafka orders it after
    /// the send.
    ///
    /// - Parameter timer: The owner of the timer if the send waits for its time. Then the scheduler gets a
    ///   cancel, too. If one of the two cancels comes too late, the other one still works.
    static func cancel(
        _ id: SendID, key: GroupKey, recipient: Recipient?, timer: ScheduleOwner?, _ context: RequestContext
    ) -> [OutgoingRecord] {
        let cancel = Cancel(
            send: id.text, app: context.app.id, key: key, recipient: recipient,
            acceptedAt: max(0, context.now.milliseconds))
        var records = [
            context.audit("send.cancel", subject: id.text),
            OutgoingRecord(destination: .sends, key: key.bytes, value: cancel.encoded()),
        ]
        if let timer {
            let order = ScheduleOrder(
                .cancel(.send(id.text)), app: context.app.id, owner: timer, acceptedAt: cancel.acceptedAt)
            records.append(OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded()))
        }
        return records
    }
}
