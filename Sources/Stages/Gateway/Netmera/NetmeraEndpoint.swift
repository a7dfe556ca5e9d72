internal import Catalog
internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// `/rest/3.0`: Netmera's calls, as its documentation describes them.
struct NetmeraEndpoint: Sendable {
    let entrance: Entrance
    let worker: RequestWorker
    let lanes: Int

    static let bulk = "/rest/3.0/sendBulkNotification"
    static let transactional = "/rest/3.0/sendNotification"
    static let update = "/rest/3.0/update-live-activity"
    static let definition = "/rest/3.0/createNotificationDefinition"

    func add(to routes: inout HTTPRoutes) {
        send(Self.bulk, NetmeraBulk.fields, to: &routes) { root, _ in NetmeraBulk.draft(root) }
        send(Self.update, NetmeraUpdate.fields, to: &routes) { root, _ in NetmeraUpdate.draft(root) }
        send(Self.transactional, NetmeraTransactional.fields, to: &routes) { root, context in
            NetmeraTransactional.draft(root, of: context.app, in: context.catalog)
        }
        let numbers = DefinitionNumbers()
        on(Self.definition, about: .catalog, to: &routes) { context throws(RefusedRequest) in
            try define(context, numbers)
        }
    }

    private func send(
        _ path: String, _ fields: SendFields, to routes: inout HTTPRoutes,
        draft: @escaping @Sendable (JSONValue, RequestContext) -> SendDraft
    ) {
        let decision = SendDecision(route: path, fields: fields, lanes: lanes, draft: draft)
        on(path, about: .send, to: &routes) { context throws(RefusedRequest) in try decision.decide(context) }
    }

    private func on(
        _ path: String, about kind: RequestKind, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        let (entrance, worker) = (entrance, worker)
        routes.onJudged(.post, path, bodyBytesMax: GatewayLimits.sendBytesMax) { request in
            entrance.judge(request, for: .send, by: .netmera) { incoming in
                worker.take(incoming, about: kind, decide: decide)
            }
        }
    }

    private func define(
        _ context: RequestContext, _ numbers: DefinitionNumbers
    ) throws(RefusedRequest) -> RequestDecision {
        let (draft, group) = NetmeraDefinition.draft(try context.root())
        let judge = SendJudge(
            app: context.app, catalog: context.catalog, now: context.now, fields: NetmeraDefinition.fields)
        _ = try judge.judge(draft, afterReading: context.problems)
        if context.catalog.definitions(of: context.app.id).count >= NotificationDefinition.perAppMax {
            throw RefusedRequest(
                [
                    RequestProblem(
                        "too_many_definitions", at: "",
                        "the app has \(NotificationDefinition.perAppMax) definitions; delete old ones with DELETE /v1/definitions/NUMBER"
                    )
                ], status: 409)
        }
        let definition = NetmeraDefinition.definition(
            draft, group: group, number: numbers.next(now: context.now), app: context.app, now: context.now)
        var json = JSONWriter(capacity: 64)
        json.beginObject()
        json.field("notificationKey", "\(definition.number)")
        json.endObject()
        return .change(.put(definition), .json(json.bytes))
    }
}
