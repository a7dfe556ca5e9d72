internal import HTTPServer
internal import LiveActivity

/// `/v1/dead-letters`: the app's records that a stage could not use.
struct DeadLettersEndpoint: Sendable {
    static let path = "/v1/dead-letters"
    private static let bodyBytesMax = 64 * 1024

    let authorization: Authorization
    let service: DeadLetterService

    func add(to routes: inout HTTPRoutes) {
        let (authorization, desk) = (authorization, service)
        for (path, isEach) in [(Self.path, false), (Self.path + "/each", true)] {
            routes.onAdmission(.get, path: path) { request in
                authorization.admit(request, for: .read) { incoming in
                    Self.withQuery(of: incoming) { request throws(RefusedRequest) in
                        try DeadLetterQuery(parameters: request.query, of: incoming.caller.app.id)
                    } then: {
                        desk.list(for: incoming, query: $0, isEach: isEach)
                    }
                }
            }
        }
        routes.onAdmission(.get, path: Self.path + "/{partition}/{offset}") { request in
            authorization.admit(request, for: .read) { incoming in
                Self.withQuery(of: incoming) { request throws(RefusedRequest) in
                    try DeadLetterQuery(
                        partition: request.parameters["partition"], offset: request.parameters["offset"],
                        of: incoming.caller.app.id)
                } then: {
                    desk.show(for: incoming, query: $0)
                }
            }
        }
        for (word, deed) in [("redrive", DeadLetterService.DeadLetterCommand.redrive), ("discard", .discard)]
        {
            routes.onAdmission(.post, path: Self.path + "/" + word, bodyBytesMax: Self.bodyBytesMax) {
                request in
                authorization.admit(request, for: .admin) { desk.perform(for: $0, action: deed) }
            }
        }
    }

    private static func withQuery(
        of incoming: AuthorizedRequest, parse query: (HTTPRequest) throws(RefusedRequest) -> DeadLetterQuery,
        then: (DeadLetterQuery) -> Bool
    ) -> Bool {
        do throws(RefusedRequest) { return then(try query(incoming.request)) } catch {
            incoming.reply.send(error.response)
            return true
        }
    }
}
