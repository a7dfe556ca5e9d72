internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import Schedules
internal import Telemetry

/// `/v1/users/{id}`: the calls of a backend that set a user's profile or erase the user, for all of the user's
/// installations. Each call becomes a report for ingest. An erasure also becomes a command to the scheduler.
struct UsersEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    /// The note in the answer to an erasure. The periods are the retention of the topics.
    private static let erasureNote =
        "remaining records of the user expire: groups and starts within 3 days; sends, progress and receipts within 7; events and dead letters within 30; the audit of your own calls within 400"

    func add(to routes: inout HTTPRoutes) {
        routes.onAdmission(
            .put, path: "/v1/users/{id}/profile", bodyBytesMax: GatewayLimits.catalogBytesMax
        ) { [authorization, worker] request in
            authorization.admit(request, for: .send) { authorized in
                worker.accept(authorized, as: .user) { context throws(RefusedRequest) in
                    try Self.putProfile(in: context)
                }
            }
        }
        routes.onAdmission(.delete, path: "/v1/users/{id}") { [authorization, worker] request in
            authorization.admit(request, for: .send) { authorized in
                worker.accept(authorized, as: .user) { context throws(RefusedRequest) in
                    try Self.erase(in: context)
                }
            }
        }
    }

    /// Sets the user's tags, attributes or both. A member that the body omits stays as it is.
    private static func putProfile(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let user = try context.name(inPath: "id")
        let object = try context.bodyRoot().object()
        var report = Report(app: context.app.id, profileOf: user)
        let (tags, attributes) = (object["tags"], object["attributes"])
        report.tags = tags.optional?.names(countMax: Report.tagsMax)
        if let attributes = attributes.optional {
            attributes.checkProfileAttributes()
            report.attributes = attributes.rawJSON()
        }
        let isEmpty = tags.optional == nil && attributes.optional == nil
        // The message follows the field's name: "tags or attributes is required".
        if isEmpty { tags.report("or attributes is required") }
        object.reportUnknownFields()
        try context.throwProblems()
        return .store(
            [context.auditRecord(action: "user.profile", subject: user), .report(report)],
            response(user: user, note: nil))
    }

    /// Erases the user's state (the report) and waiting schedules (the command).
    private static func erase(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let user = try context.name(inPath: "id")
        try context.refuseBody()
        let report = Report(app: context.app.id, erasing: user)
        let command = context.scheduleCommand(
            .erase, of: .recipient(.user(user)), acceptedAt: context.acceptedAt)
        return .store(
            [
                context.auditRecord(action: "user.erase", subject: user), .report(report),
                OutgoingRecord(destination: .schedules, key: command.key, value: command.encoded()),
            ],
            response(user: user, note: erasureNote))
    }

    private static func response(user: String, note: String?) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.field("userId", user)
        json.field("accepted", true)
        json.field("note", note)
        json.endObject()
        return .json(json.bytes, status: 202)
    }
}
