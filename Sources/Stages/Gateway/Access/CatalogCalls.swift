internal import CatalogRecords
internal import HTTPServer

/// Adds calls that read or change the catalog and need the role `admin`.
struct CatalogCalls: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    func add(
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
