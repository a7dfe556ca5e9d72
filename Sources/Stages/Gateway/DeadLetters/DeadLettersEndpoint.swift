internal import CatalogRecords
internal import HTTPServer

/// `/v1/dead-letters`: the records of the app that a stage could not use, such as jobs that could not be pushed. `GET`
/// sums them up by reason, `GET …/each` lists them, and `GET …/{partition}/{offset}` shows one. `POST …/redrive` sends
/// dead letters again, and `POST …/discard` settles them without sending them again.
struct DeadLettersEndpoint: Sendable {
    static let path = "/v1/dead-letters"

    let authorization: Authorization
    let service: DeadLetterService

    func add(to routes: inout HTTPRoutes) {
        addRoute(.get, path: Self.path, for: .read, to: &routes) { request, app throws(RefusedRequest) in
            .summarize(try DeadLetterQuery(parameters: request.query, of: app, for: .sums))
        }
        addRoute(.get, path: Self.path + "/each", for: .read, to: &routes) {
            request, app throws(RefusedRequest) in
            .list(try DeadLetterQuery(parameters: request.query, of: app, for: .list))
        }
        addRoute(.get, path: Self.path + "/{partition}/{offset}", for: .read, to: &routes) {
            request, app throws(RefusedRequest) in
            .show(
                try DeadLetterQuery(
                    partition: request.parameters["partition"], offset: request.parameters["offset"], of: app)
            )
        }
        addRoute(.post, path: Self.path + "/redrive", for: .admin, to: &routes) { _, _ in .redrive }
        addRoute(.post, path: Self.path + "/discard", for: .admin, to: &routes) { _, _ in .discard }
    }

    /// Adds a route whose requests the service answers, unless their path or query is refused.
    ///
    /// - Parameter read: Reads the call from the path and the query of a request.
    private func addRoute(
        _ method: HTTPMethod, path: String, for role: APIKey.Role, to routes: inout HTTPRoutes,
        read: @escaping @Sendable (HTTPRequest, _ app: String) throws(RefusedRequest) -> DeadLetterCall
    ) {
        routes.onAdmission(method, path: path, bodyBytesMax: GatewayLimits.deadLetterBodyBytesMax) {
            [authorization, service] request in
            authorization.admit(request, for: role) { authorized in
                do throws(RefusedRequest) {
                    let call = try read(authorized.request, authorized.caller.app.id)
                    return service.accept(call, for: authorized)
                } catch {
                    authorized.reply.send(error.response)
                    return true
                }
            }
        }
    }
}
