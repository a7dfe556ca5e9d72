internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Sends
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
        let numbers = DefinitionNumbers()
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

    /// Stores a definition in the catalog, and answers with its number. An idempotency key counts as long as its
    /// definition exists. So a repetition gets the same number, whenever it comes.
    private func define(
        in context: RequestContext, numbers: DefinitionNumbers
    ) throws(RefusedRequest) -> RequestDecision {
        let root = try context.bodyRoot()
        let idempotency = try Idempotency(headers: context.headers, body: root)
        let (draft, group) = NetmeraDefinition.draft(from: root)
        let validator = SendValidator(
            app: context.app, catalog: context.catalog, now: context.now, fields: NetmeraDefinition.fields,
            lanes: lanes)
        // Only the problems are of use here. The send itself is made when the definition is sent.
        _ = try validator.validate(draft, afterReading: context.problems)
        // Another gateway may have just stored the definition of this key.
        if idempotency != nil, !context.isCatalogCurrent { return .readCatalog }
        let number =
            idempotency.map { DefinitionNumbers.number(ofKey: $0.key, app: context.app.id) }
            ?? numbers.next(now: context.now)
        if let earlier = context.catalog.definition(number: number, of: context.app.id) {
            guard earlier.fingerprint == idempotency?.fingerprint else {
                throw .idempotencyConflict(with: .definition(number))
            }
            return .answer(Self.response(number: number))
        }
        try Self.checkDefinitionCount(in: context)
        var definition = NetmeraDefinition.definition(
            from: draft, group: group, number: number, app: context.app, now: context.now)
        definition.fingerprint = idempotency?.fingerprint
        return .changeCatalog(.put(definition), Self.response(number: number))
    }

    private static func response(number: Int64) -> HTTPResponse {
        var json = JSONWriter(capacity: 64)
        json.beginObject()
        json.field("notificationKey", "\(number)")
        json.endObject()
        return .json(json.bytes)
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
