internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// `/v1/schedules`: sends for later, from a backend, or from a phone for its own user.
struct SchedulesEndpoint: Sendable {
    let entrance: Entrance
    let worker: RequestWorker
    let lanes: Int

    static let path = "/v1/schedules"

    func add(to routes: inout HTTPRoutes) {
        let decision = ScheduleDecision(lanes: lanes)
        on(.post, for: .report, to: &routes) { context throws(RefusedRequest) in
            try decision.schedule(context)
        }
        on(.delete, for: .report, to: &routes) { context throws(RefusedRequest) in
            try decision.cancel(context)
        }
        on(.get, for: .read, to: &routes) { context throws(RefusedRequest) in try decision.list(context) }
    }

    private func on(
        _ method: HTTPMethod, for role: APIKey.Role, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        let (entrance, worker) = (entrance, worker)
        routes.onJudged(method, Self.path, bodyBytesMax: GatewayLimits.catalogBytesMax) { request in
            entrance.judge(request, for: role) { incoming in
                worker.take(incoming, about: .schedule, decide: decide)
            }
        }
    }
}

/// The decisions about requests to `/v1/schedules`.
struct ScheduleDecision: Sendable {
    /// The header with a user's proof on calls without a body.
    static let proofHeader = "user-proof"

    let lanes: Int

    func schedule(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let key = try IdempotencyKey.of(context.headers)
        let root = try context.root()
        let body = ScheduleBody(root, now: context.now)
        let idempotency = key.map { Schedule.Idempotency(key: $0, fingerprint: BodyDigest.of(root)) }
        let unproven = context.unproven(body.user, body.userProof, proofAt: "userProof")
        var draft = body.draft
        draft.problems += unproven
        let judge = SendJudge(
            app: context.app, catalog: context.catalog, now: context.now, fields: ScheduleBody.fields)
        let judged = try judge.judge(draft, afterReading: context.problems)
        guard let time = draft.time else { preconditionFailure("a schedule has a time") }
        let wish = TimedSend.Wish(
            time: time, id: body.id, name: body.name, contentField: ScheduleBody.fields.contentState)
        return try TimedSend(route: SchedulesEndpoint.path, lanes: lanes).decide(
            judged, as: wish, idempotency: idempotency, in: context
        ) { send, outcome in
            ScheduleAnswer.scheduled(send, as: wish, judged: judged, outcome)
        }
    }

    func cancel(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try context.refuseBody()
        var query = ScheduleQuery(context, allowed: ["user", "group", "activity", "id"])
        let owner = query.owner()
        let choice = query.choice(owner)
        try query.refuse()
        return .ask(
            ScheduleQuestion(
                order: order(.cancel(choice), of: owner, context),
                others: context.role.includes(.send)
                    ? [context.audit("schedule.cancel", subject: owner.text)] : []
            ) { ScheduleAnswer.canceled($0) })
    }

    func list(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        try context.refuseBody()
        var query = ScheduleQuery(context, allowed: ["user", "group"])
        let owner = query.owner()
        try query.refuse()
        return .ask(
            ScheduleQuestion(
                order: order(.list(ScheduleOrder.listedMax), of: owner, context), others: []
            ) { ScheduleAnswer.list($0) })
    }

    private func order(
        _ wish: ScheduleOrder.Wish, of owner: ScheduleOwner, _ context: RequestContext
    ) -> ScheduleOrder {
        ScheduleOrder(
            wish, app: context.app.id, owner: owner, acceptedAt: max(0, context.now.milliseconds))
    }
}
