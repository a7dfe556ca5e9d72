internal import CatalogRecords
internal import HTTPServer

/// The calls about the API keys of the app: `/v1/keys`. All of them need the role `admin`.
struct KeysEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        addRoute(.get, "/v1/keys", to: &routes) { context throws(RefusedRequest) in KeyCalls.list(in: context)
        }
        addRoute(.post, "/v1/keys", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.create(in: context)
        }
        addRoute(.get, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.show(in: context)
        }
        addRoute(.put, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.change(in: context)
        }
        addRoute(.delete, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try context.refuseBody()
            return try KeyCalls.revoke(in: context)
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
