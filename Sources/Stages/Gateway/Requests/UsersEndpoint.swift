internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry
internal import Topics

/// `/v1/users/{id}`: the calls of a backend that set a user's profile or erase the user, for all of the user's
/// installations. Each call becomes a report for ingest. An erasure is also a record for the senders, which drop the user's
/// waiting pushes, and a command to the scheduler.
struct UsersEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker
    let layout: TopicLayout

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
        routes.onAdmission(.delete, path: "/v1/users/{id}") { [authorization, worker, layout] request in
            authorization.admit(request, for: .send) { authorized in
                worker.accept(authorized, as: .user) { context throws(RefusedRequest) in
                    try Self.erase(in: context, layout: layout)
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
            response(user: user, remainder: nil))
    }

    /// Erases the user's state (the report), waiting schedules (the command, which every partition of the scheduler
    /// gets), and waiting pushes (the record for the senders).
    private static func erase(
        in context: RequestContext, layout: TopicLayout
    ) throws(RefusedRequest) -> RequestDecision {
        let user = try context.name(inPath: "id")
        try context.refuseBody()
        let app = context.app.id
        let command = context.scheduleCommand(
            .erase, of: .recipient(.user(user)), acceptedAt: context.acceptedAt)
        let commandBytes = command.encoded()
        var records: [OutgoingRecord] = [
            context.auditRecord(action: "user.erase", subject: user),
            .report(Report(app: app, erasing: user)),
            .erasure(RecipientErasure(app: app, recipient: .user(user))),
        ]
        for partition in 0..<Int32(layout.partitionCount(of: .schedules)) {
            records.append(
                OutgoingRecord(
                    destination: .schedules, key: command.key, value: commandBytes, partition: partition))
        }
        return .store(
            records,
            response(user: user, remainder: ErasureRemainder(layout: layout, erasedAt: context.acceptedAt)))
    }

    private static func response(user: String, remainder: ErasureRemainder?) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.field("userId", user)
        json.field("accepted", true)
        remainder?.write(to: &json)
        json.endObject()
        return .json(json.bytes, status: 202)
    }
}
