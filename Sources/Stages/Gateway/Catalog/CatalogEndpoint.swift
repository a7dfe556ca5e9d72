internal import CatalogRecords
internal import HTTPServer
internal import JSON

/// The calls about the objects of the catalog: `/v1/activity-types`, `/v1/segments` and `/v1/definitions`. Each
/// kind can be listed, shown and deleted. Types and segments can be put. Netmera's interface creates the
/// definitions.
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
        routes.onAdmission(.get, path: path) { [authorization, worker] request in
            authorization.admit(request, for: .read) { authorized in
                worker.accept(authorized, as: .catalog, decide: decide)
            }
        }
    }

    private func addChangeRoute(
        _ kind: CatalogObjectKind, by method: HTTPMethod, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        routes.onAdmission(
            method, path: "/v1/\(kind.path)/{name}", bodyBytesMax: GatewayLimits.catalogBytesMax
        ) { [authorization, worker] request in
            authorization.admit(request, for: .admin) { authorized in
                worker.accept(authorized, as: .catalog, decide: decide)
            }
        }
    }
}
