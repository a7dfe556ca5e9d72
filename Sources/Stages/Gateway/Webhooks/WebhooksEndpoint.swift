internal import CatalogRecords
internal import HTTPServer

/// The calls about webhook endpoints: `/v1/webhooks`. An endpoint receives facts about all users of the app, so also
/// reading needs the role `admin`.
struct WebhooksEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        addRoute(.get, "/v1/webhooks", to: &routes) { context throws(RefusedRequest) in
            WebhookCalls.list(in: context)
        }
        addRoute(.get, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try WebhookCalls.show(in: context)
        }
        addRoute(.put, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try WebhookCalls.put(in: context)
        }
        addRoute(.delete, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try context.refuseBody()
            return try WebhookCalls.delete(in: context)
        }
    }

    private func addRoute(
        _ method: HTTPMethod, _ path: String, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        let bodyBytesMax: Int? = method == .get ? nil : GatewayLimits.catalogBytesMax
        routes.onAdmission(method, path: path, bodyBytesMax: bodyBytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: .admin) { authorized in
                worker.accept(authorized, as: .catalog, decide: decide)
            }
        }
    }
}
