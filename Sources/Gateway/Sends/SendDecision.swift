internal import HTTPServer
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// What a request to send becomes: one record of `sends` and one of `audit`, and its answer; what is to go later
/// is an order to the scheduler instead. Nothing is half-accepted: of a body with anything wrong nothing is stored.
struct SendDecision: Sendable {
    /// Its path: the same idempotency key on another route is another request.
    let route: String
    let fields: SendFields
    let lanes: Int
    let draft: @Sendable (JSONValue, RequestContext) -> SendDraft

    func decide(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let idempotencyKey = try IdempotencyKey.of(context.headers)
        let root = try context.root()
        let draft = draft(root, context)
        let fingerprint = idempotencyKey.map { _ in Fingerprint.of(root) }
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
                // A dry run is another request than the send itself: each has its progress.
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

    /// The record that takes a send back goes the way of the send, and so comes behind it.
    ///
    /// - Parameter timer: whose timer holds the send, where it waits for its time: then it is taken back there, too,
    ///   and whichever of the two comes too late, the other does not.
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
