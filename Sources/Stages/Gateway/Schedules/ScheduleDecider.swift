internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Schedules
internal import Sends
internal import Telemetry

/// The decisions about requests to `/v1/schedules`. Each becomes a command to the scheduler. `TimedSendDecider` makes the
/// command of a schedule, which is a send for later.
struct ScheduleDecider: Sendable {
    /// The header with a user's proof on calls without a body.
    static let proofHeader = "user-proof"

    let lanes: Int

    /// `POST`: schedules an update or an end of one user's activity.
    func schedule(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try Self.checkPhoneMaySchedule(in: context)
        let root = try context.bodyRoot()
        let idempotency = try Idempotency(headers: context.headers, body: root)
        let body = ScheduleBody(from: root, now: context.now)
        var draft = body.draft
        // The validator reports these problems together with those of the fields, which the context has noted.
        draft.problems += context.proofProblems(of: body.user, proof: body.userProof, at: "userProof")
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: ScheduleBody.fields,
            lanes: lanes)
        let validated = try validator.validate(draft, afterReading: context.problems)
        // `ScheduleBody` has set a time, or the validator has thrown a problem.
        guard let time = draft.time else { preconditionFailure("a schedule has a time") }
        let schedule = TimedSendDecider.RequestedSchedule(
            time: time, id: body.id, name: body.name, contentField: ScheduleBody.fields.contentState)
        return try TimedSendDecider(route: SchedulesEndpoint.path, lanes: lanes).decide(
            validated, schedule: schedule, idempotency: idempotency, in: context
        ) { send, outcome in
            ScheduleResponse.scheduled(send, schedule: schedule, validated: validated, outcome: outcome)
        }
    }

    /// `DELETE`: cancels the schedules of an activity, or one schedule by its id.
    func cancel(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try Self.checkPhoneMaySchedule(in: context)
        try context.refuseBody()
        var query = ScheduleQuery(in: context, allowed: ["user", "group", "activity", "id"])
        let owner = query.owner()
        let selection = query.selection(for: owner)
        try query.throwProblems()
        let auditRecords = context.auditRecords(ofScheduleAction: "schedule.cancel", subject: owner.text)
        let command = command(.cancel(selection), of: owner, in: context)
        return .askStage(
            StageRequest(subject: .command(command), otherRecords: auditRecords) {
                ScheduleResponse.cancelled($0)
            })
    }

    /// `GET`: lists the next waiting schedules of an owner. Only backends have the role of this call (`SchedulesEndpoint`).
    func list(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try context.refuseBody()
        var query = ScheduleQuery(in: context, allowed: ["user", "group", "cursor"])
        let owner = query.owner()
        let position = query.position()
        try query.throwProblems()
        let command = command(
            .list(ScheduleCommand.listedTimersMax, after: position), of: owner, in: context)
        return .askStage(
            StageRequest(subject: .command(command), otherRecords: []) { ScheduleResponse.list($0) })
    }

    private func command(
        _ action: ScheduleCommand.Action, of owner: ScheduleOwner, in context: RequestContext
    ) -> ScheduleCommand {
        context.scheduleCommand(action, of: owner, acceptedAt: context.acceptedAt)
    }

    /// Refuses a key of the role `report`, which phones have, unless the app requires proofs of users or permits
    /// schedules without them. The key is in the app's binary, so without proofs anyone could write to the lock
    /// screens of other users.
    private static func checkPhoneMaySchedule(in context: RequestContext) throws(RefusedRequest) {
        if !context.isFromPhone || context.app.requiresUserProof || context.app.allowsUnprovenSchedules {
            return
        }
        let app = context.app.id
        throw RefusedRequest(
            [
                RequestProblem(
                    code: "schedules_need_proof", at: "",
                    message:
                        "this app does not require user proofs, so a key of the role report may not schedule or cancel. "
                        + "Require proofs with `flotilla apps user-proof \(app) --require yes`. "
                        + "Or schedule from your server with a key of the role send. "
                        + "Or let anyone with the app schedule for any user with `flotilla apps update \(app) --unproven-schedules yes`"
                )
            ], status: 403)
    }
}
