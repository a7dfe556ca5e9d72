internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// `/v1/users/{id}`: a backend's calls about a user, for all of the user's installations. Each call becomes a
/// report for ingest. An erasure also becomes an order to the scheduler.
struct UsersEndpoint: Sendable {
    let entrance: Entrance
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        let (entrance, worker) = (entrance, worker)
        routes.onJudged(.put, "/v1/users/{id}/profile", bodyBytesMax: GatewayLimits.catalogBytesMax) {
            request in
            entrance.judge(request, for: .send) { incoming in
                worker.take(incoming, about: .user) { context throws(RefusedRequest) in
                    try Self.profile(context)
                }
            }
        }
        routes.onJudged(.delete, "/v1/users/{id}") { request in
            entrance.judge(request, for: .send) { incoming in
                worker.take(incoming, about: .user) { context throws(RefusedRequest) in
                    try Self.erase(context)
                }
            }
        }
    }

    private static func profile(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let user = try context.name("id")
        let object = try context.root().object()
        var report = Report(app: context.app.id, profileOf: user)
        let (tags, attributes) = (object["tags"], object["attributes"])
        report.tags = tags.optional?.names(countMax: Report.tagsMax)
        if let attributes = attributes.optional {
            attributes.checkProfileAttributes()
            report.attributes = attributes.rawJSON()
        }
        if tags.optional == nil, attributes.optional == nil { tags.report("or attributes is required") }
        object.refuseUnknownFields()
        try context.throwProblems()
        return .store(
            [context.audit("user.profile", subject: user), .report(report)], answer(user, note: nil))
    }

    private static func erase(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let user = try context.name("id")
        try context.refuseBody()
        let report = Report(app: context.app.id, eraseOf: user)
        let order = ScheduleOrder(
            .cancel(.everything), app: context.app.id, owner: .recipient(.user(user)),
            acceptedAt: max(0, context.now.milliseconds))
        return .store(
            [
                context.audit("user.erase", subject: user), .report(report),
                OutgoingRecord(destination: .schedules, key: order.key, value: order.encoded()),
            ],
            answer(
                user,
                note:
                    "remaining records of the user expire: groups and starts within 3 days; sends, progress and receipts within 7; events and dead letters within 30; the audit of your own calls within 400"
            ))
    }

    private static func answer(_ user: String, note: String?) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.field("userId", user)
        json.field("accepted", true)
        json.field("note", note)
        json.endObject()
        return .json(json.bytes, status: 202)
    }
}
