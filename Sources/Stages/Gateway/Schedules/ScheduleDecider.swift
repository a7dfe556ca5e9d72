internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Schedules
internal import Sends
internal import Telemetry

/// The decisions about requests to `/v1/schedules`.
struct ScheduleDecider: Sendable {
    /// The header with a user's proof on calls without a body.
    static let proofHeader = "user-proof"

    let lanes: Int

    func schedule(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try Self.checkPhones(in: context)
        let root = try context.bodyRoot()
        let idempotency = try Idempotency(headers: context.headers, body: root)
        let body = ScheduleBody(from: root, now: context.now)
        let proofProblems = context.proofProblems(of: body.user, proof: body.userProof, at: "userProof")
        var draft = body.draft
        draft.problems += proofProblems
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: ScheduleBody.fields,
            lanes: lanes)
        let validated = try validator.validate(draft, afterReading: context.problems)
        guard let time = draft.time else { preconditionFailure("a schedule has a time") }
        let schedule = TimedSendDecider.RequestedSchedule(
            time: time, id: body.id, name: body.name, contentField: ScheduleBody.fields.contentState)
        return try TimedSendDecider(route: SchedulesEndpoint.path, lanes: lanes).decide(
            validated, schedule: schedule, idempotency: idempotency, in: context
        ) { send, outcome in
            ScheduleResponse.scheduled(send, schedule: schedule, validated: validated, outcome: outcome)
        }
    }

    func cancel(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try Self.checkPhones(in: context)
        try context.refuseBody()
        var query = ScheduleQuery(in: context, allowed: ["user", "group", "activity", "id"])
        let owner = query.owner()
        let selection = query.selection(for: owner)
        try query.throwProblems()
        return .askScheduler(
            SchedulerRequest(
                command: command(.cancel(selection), of: owner, in: context),
                otherRecords: context.role.includes(.send)
                    ? [context.auditRecord(action: "schedule.cancel", subject: owner.text)] : []
            ) { ScheduleResponse.cancelled($0) })
    }

    func list(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try context.refuseBody()
        var query = ScheduleQuery(in: context, allowed: ["user", "group"])
        let owner = query.owner()
        try query.throwProblems()
        return .askScheduler(
            SchedulerRequest(
                command: command(.list(ScheduleCommand.listedTimersMax), of: owner, in: context),
                otherRecords: []
            ) { ScheduleResponse.list($0) })
    }

    private func command(
        _ action: ScheduleCommand.Action, of owner: ScheduleOwner, in context: RequestContext
    ) -> ScheduleCommand {
        context.scheduleCommand(action, of: owner, acceptedAt: max(0, context.now.milliseconds))
    }

    /// Refuses a phone whose app has not made schedules safe for phones. A `report` key is in the app's binary, so
    /// without proofs anyone could write to the lock screens of other users.
    private static func checkPhones(in context: RequestContext) throws(RefusedRequest) {
        if context.role.includes(.read) || context.app.requiresUserProof
            || context.app.allowsUnprovenSchedules
        {
            return
        }
        let app = context.app.id
        throw RefusedRequest(
            [
                RequestProblem(
                    code: "schedules_need_proof", at: "",
                    message:
                        "this app does not require user proofs, so a key of the role report may not schedule or cancel. Require proofs with `flotilla apps user-proof \(app) --require yes`. Or schedule from your server with a key of the role send. Or let anyone with the app schedule for any user with `flotilla apps update \(app) --unproven-schedules yes`"
                )
            ], status: 403)
    }
}
