internal import HTTPServer
internal import JSON
internal import LiveActivity

/// The calls about activity types, segments and definitions. Each kind has the same calls.
struct CatalogEndpoint: Sendable {
    let entrance: Entrance
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        for kind in CatalogPart.allCases {
            read("/v1/\(kind.path)", in: &routes) { context throws(RefusedRequest) in kind.list(context) }
            read("/v1/\(kind.path)/{name}", in: &routes) { context throws(RefusedRequest) in
                try kind.show(context)
            }
            change(kind, by: .delete, in: &routes) { context throws(RefusedRequest) in
                try context.refuseBody()
                return try kind.delete(context)
            }
        }
        change(.activityTypes, by: .put, in: &routes) { context throws(RefusedRequest) in
            try CatalogPart.putType(context)
        }
        change(.segments, by: .put, in: &routes) { context throws(RefusedRequest) in
            try CatalogPart.putSegment(context)
        }
    }

    private func read(_ path: String, in routes: inout HTTPRoutes, decide: @escaping RequestWorker.Decide) {
        let (entrance, worker) = (entrance, worker)
        routes.onJudged(.get, path) { request in
            entrance.judge(request, for: .read) { incoming in
                worker.take(incoming, about: .catalog, decide: decide)
            }
        }
    }

    private func change(
        _ kind: CatalogPart, by method: HTTPMethod, in routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        let (entrance, worker) = (entrance, worker)
        routes.onJudged(
            method, "/v1/\(kind.path)/{name}", bodyBytesMax: GatewayLimits.catalogBytesMax
        ) { request in
            entrance.judge(request, for: .admin) { incoming in
                worker.take(incoming, about: .catalog, decide: decide)
            }
        }
    }
}
