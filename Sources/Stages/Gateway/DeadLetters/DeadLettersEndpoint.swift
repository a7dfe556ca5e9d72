internal import CatalogRecords
internal import HTTPServer

/// `/v1/dead-letters`: the records of the app that a stage could not use, and calls that send them again or discard
/// them.
struct DeadLettersEndpoint: Sendable {
    static let path = "/v1/dead-letters"
    /// The longest body of a redrive or a discard. Beyond it the answer is 413.
    private static let bodyBytesMax = 64 * 1024

    let authorization: Authorization
    let service: DeadLetterService

    func add(to routes: inout HTTPRoutes) {
        addListRoute(Self.path, isEach: false, to: &routes)
        addListRoute(Self.path + "/each", isEach: true, to: &routes)
        addShowRoute(to: &routes)
        addCommandRoute("/redrive", command: .redrive, to: &routes)
        addCommandRoute("/discard", command: .discard, to: &routes)
    }

    private func addListRoute(_ path: String, isEach: Bool, to routes: inout HTTPRoutes) {
        routes.onAdmission(.get, path: path) { [authorization, service] request in
            authorization.admit(request, for: .read) { authorized in
                Self.withQuery(of: authorized) { request throws(RefusedRequest) in
                    try DeadLetterQuery(
                        parameters: request.query, of: authorized.caller.app.id, isEach: isEach)
                } then: { query in
                    service.list(for: authorized, query: query, isEach: isEach)
                }
            }
        }
    }

    private func addShowRoute(to routes: inout HTTPRoutes) {
        routes.onAdmission(.get, path: Self.path + "/{partition}/{offset}") {
            [authorization, service] request in
            authorization.admit(request, for: .read) { authorized in
                Self.withQuery(of: authorized) { request throws(RefusedRequest) in
                    try DeadLetterQuery(
                        partition: request.parameters["partition"], offset: request.parameters["offset"],
                        of: authorized.caller.app.id)
                } then: { query in
                    service.show(for: authorized, query: query)
                }
            }
        }
    }

    private func addCommandRoute(
        _ subpath: String, command: DeadLetterService.DeadLetterCommand, to routes: inout HTTPRoutes
    ) {
        routes.onAdmission(.post, path: Self.path + subpath, bodyBytesMax: Self.bodyBytesMax) {
            [authorization, service] request in
            authorization.admit(request, for: .admin) { service.perform(for: $0, command: command) }
        }
    }

    /// Passes the query of a request to `call`, or answers with the query's problems. Returns false if too many calls
    /// wait.
    private static func withQuery(
        of authorized: AuthorizedRequest, parse: (HTTPRequest) throws(RefusedRequest) -> DeadLetterQuery,
        then call: (DeadLetterQuery) -> Bool
    ) -> Bool {
        do throws(RefusedRequest) {
            return call(try parse(authorized.request))
        } catch {
            authorized.reply.send(error.response)
            return true
        }
    }
}
