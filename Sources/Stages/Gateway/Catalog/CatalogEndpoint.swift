internal import HTTPServer
internal import JSON
internal import LiveActivity

/// The calls about activity types, segments and definitions. Each kind has the same calls.
struct CatalogEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        for kind in CatalogObjectKind.allCases {
            addReadRoute("/v1/\(kind.path)", to: &routes) { context throws(RefusedRequest) in
                kind.list(in: context)
            }
            addReadRoute("/v1/\(kind.path)/{name}", to: &routes) { context throws(RefusedRequest) in
                try kind.show(in: context)
            }
            addChangeRoute(kind, by: .delete, to: &routes) { context throws(RefusedRequest) in
                try context.refuseBody()
                return try kind.delete(in: context)
            }
        }
        addChangeRoute(.activityTypes, by: .put, to: &routes) { context throws(RefusedRequest) in
            try CatalogObjectKind.putType(in: context)
        }
        addChangeRoute(.segments, by: .put, to: &routes) { context throws(RefusedRequest) in
            try CatalogObjectKind.putSegment(in: context)
        }
    }

    private func addReadRoute(
        _ path: String, to routes: inout HTTPRoutes, decide: @escaping RequestWorker.Decide
    ) {
        let (authorization, worker) = (authorization, worker)
        routes.onAdmission(.get, path: path) { request in
            authorization.admit(request, for: .read) { incoming in
                worker.accept(incoming, as: .catalog, decide: decide)
            }
        }
    }

    private func addChangeRoute(
        _ kind: CatalogObjectKind, by method: HTTPMethod, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        let (authorization, worker) = (authorization, worker)
        routes.onAdmission(
            method, path: "/v1/\(kind.path)/{name}", bodyBytesMax: GatewayLimits.catalogBytesMax
        ) { request in
            authorization.admit(request, for: .admin) { incoming in
                worker.accept(incoming, as: .catalog, decide: decide)
            }
        }
    }
}
