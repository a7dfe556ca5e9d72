internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry

/// The decision about a request to send. It has one of three forms:
///
/// - A send is stored for the planner, and answered when Kafka has it.
/// - With an idempotency key or with `ifVersion`, the answer waits for the planner's verdict. Only the planner knows the
///   other requests with this key, and the newest version of the scope.
/// - A send for later becomes a command to the scheduler, which keeps it until it is due (`TimedSendDecider`).
///
/// Each form also stores an audit record, unless it is a dry run. A body with any problem stores nothing.
struct SendDecider: Sendable {
    /// The path of the call. The same idempotency key on another route is another request.
    let route: String
    /// The names of the fields in the body of this call.
    let fields: SendFields
    /// The number of lanes: of partitions of `sends`.
    let lanes: Int
    /// Reads the body of the call's interface into a draft.
    let readDraft: @Sendable (JSONValue, RequestContext) -> SendDraft

    /// Returns the decision, or throws every problem of the request.
    func decide(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let root = try context.bodyRoot()
        let requestIdempotency = try Idempotency(headers: context.headers, body: root)
        // Reading adds its problems to the reader of `context`.
        let draft = readDraft(root, context)
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: fields,
            lanes: lanes)
        let validated = try validator.validate(draft, afterReading: context.problems)
        // A dry run and a real send with one idempotency key are two requests, because each has its own progress.
        let idempotency = validated.send.isDryRun ? requestIdempotency?.ofDryRun : requestIdempotency
        if let time = draft.time {
            return try decideLater(validated, at: time, idempotency: idempotency, in: context)
        }
        return decideNow(validated, idempotency: idempotency, in: context)
    }

    /// Returns the decision about a send that the scheduler keeps until it is due.
    private func decideLater(
        _ validated: SendValidator.ValidatedSend, at time: SendTime, idempotency: Idempotency?,
        in context: RequestContext
    ) throws(RefusedRequest) -> RequestDecision {
        let schedule = TimedSendDecider.RequestedSchedule(time: time, contentField: fields.contentState)
        return try TimedSendDecider(route: route, lanes: lanes).decide(
            validated, schedule: schedule, idempotency: idempotency, in: context
        ) { send, outcome in
            SendResponse.later(send, validated: validated, outcome: outcome)
        }
    }

    /// Returns the decision about a send that goes to the planner at once.
    private func decideNow(
        _ validated: SendValidator.ValidatedSend, idempotency: Idempotency?, in context: RequestContext
    ) -> RequestDecision {
        let recordKey = validated.scopeKey.bytes
        let partition = Murmur2.partition(forKey: recordKey.span, partitionCount: lanes)
        let id = SendID(
            idempotency: idempotency, route: route, scope: validated.scopeKey, partition: partition,
            now: context.now)
        var send = validated.send
        send.id = id.text
        send.fingerprint = idempotency?.fingerprint
        send.requestID = context.requestID
        send.author = context.author
        // A dry run changes nothing, so the audit does not list it.
        let auditRecords =
            send.isDryRun
            ? []
            : [context.auditRecordOfSend(action: "send.\(send.content.event.rawValue)", subject: id.text)]
        guard idempotency != nil || send.ifVersion != nil else {
            let record = OutgoingRecord(destination: .sends, key: recordKey, value: send.encoded())
            return .store(auditRecords + [record], SendResponse.accepted(send, validated: validated))
        }
        return .askStage(
            StageRequest(subject: .send(send, key: recordKey), otherRecords: auditRecords) { [send] reply in
                SendResponse.planned(send, validated: validated, reply: reply)
            })
    }
}

extension Idempotency {
    /// The idempotency of a dry run. The key in a request has no spaces, so no other request has this key.
    fileprivate var ofDryRun: Idempotency { Idempotency(key: "\(key) dry run", fingerprint: fingerprint) }
}
