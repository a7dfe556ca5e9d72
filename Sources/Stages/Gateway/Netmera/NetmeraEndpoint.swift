internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Telemetry

/// `/rest/3.0`: the calls of Netmera's REST interface, for backends that were written for Netmera. Each call but
/// `createNotificationDefinition` becomes a send.
struct NetmeraEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker
    let lanes: Int

    static let bulkPath = "/rest/3.0/sendBulkNotification"
    static let transactionalPath = "/rest/3.0/sendNotification"
    static let updatePath = "/rest/3.0/update-live-activity"
    static let definitionPath = "/rest/3.0/createNotificationDefinition"

    func add(to routes: inout HTTPRoutes) {
        addSendRoute(Self.bulkPath, fields: NetmeraBulk.fields, to: &routes) { root, _ in
            NetmeraBulk.draft(from: root)
        }
        addSendRoute(Self.updatePath, fields: NetmeraUpdate.fields, to: &routes) { root, _ in
            NetmeraUpdate.draft(from: root)
        }
        addSendRoute(Self.transactionalPath, fields: NetmeraTransactional.fields, to: &routes) {
            root, context in
            NetmeraTransactional.draft(from: root, of: context.app, in: context.catalog)
        }
        let numbers = DefinitionNumberGenerator()
        addRoute(Self.definitionPath, kind: .catalog, to: &routes) { context throws(RefusedRequest) in
            try define(in: context, numbers: numbers)
        }
    }

    private func addSendRoute(
        _ path: String, fields: SendFields, to routes: inout HTTPRoutes,
        draft: @escaping @Sendable (JSONValue, RequestContext) -> SendDraft
    ) {
        let decider = SendDecider(route: path, fields: fields, lanes: lanes, readDraft: draft)
        addRoute(path, kind: .send, to: &routes) { context throws(RefusedRequest) in
            try decider.decide(in: context)
        }
    }

    private func addRoute(
        _ path: String, kind: RequestKind, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        routes.onAdmission(.post, path: path, bodyBytesMax: GatewayLimits.sendBytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: .send, keyStyle: .netmera) { authorized in
                worker.accept(authorized, as: kind, decide: decide)
            }
        }
    }

    /// Stores a definition in the catalog, and answers with its number.
    private func define(
        in context: RequestContext, numbers: DefinitionNumberGenerator
    ) throws(RefusedRequest) -> RequestDecision {
        let (draft, group) = NetmeraDefinition.draft(from: try context.bodyRoot())
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: NetmeraDefinition.fields,
            lanes: lanes)
        _ = try validator.validate(draft, afterReading: context.problems)
        try Self.checkDefinitionCount(in: context)
        let definition = NetmeraDefinition.definition(
            from: draft, group: group, number: numbers.next(now: context.now), app: context.app,
            now: context.now)
        var json = JSONWriter(capacity: 64)
        json.beginObject()
        json.field("notificationKey", "\(definition.number)")
        json.endObject()
        return .changeCatalog(.put(definition), .json(json.bytes))
    }

    private static func checkDefinitionCount(in context: RequestContext) throws(RefusedRequest) {
        let definitions = context.catalog.definitions(of: context.app.id)
        if definitions.count < NotificationDefinition.countPerAppMax { return }
        throw RefusedRequest(
            [
                RequestProblem(
                    code: "too_many_definitions", at: "",
                    message:
                        "the app has \(NotificationDefinition.countPerAppMax) definitions; delete old ones with DELETE /v1/definitions/NUMBER"
                )
            ], status: 409)
    }
}
