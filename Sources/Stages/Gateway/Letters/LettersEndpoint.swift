internal import HTTPServer
internal import LiveActivity

/// `/v1/dead-letters`: the app's records that a stage could not use.
struct LettersEndpoint: Sendable {
    static let path = "/v1/dead-letters"
    private static let bodyBytesMax = 64 * 1024

    let entrance: Entrance
    let desk: LetterDesk

    func add(to routes: inout HTTPRoutes) {
        let (entrance, desk) = (entrance, desk)
        for (path, isEach) in [(Self.path, false), (Self.path + "/each", true)] {
            routes.onJudged(.get, path) { request in
                entrance.judge(request, for: .read) { incoming in
                    Self.asking(incoming) { request throws(RefusedRequest) in
                        try LetterQuery(request.query, of: incoming.visitor.app.id)
                    } then: {
                        desk.look(incoming, at: $0, isEach: isEach)
                    }
                }
            }
        }
        routes.onJudged(.get, Self.path + "/{partition}/{offset}") { request in
            entrance.judge(request, for: .read) { incoming in
                Self.asking(incoming) { request throws(RefusedRequest) in
                    try LetterQuery(
                        partition: request.parameters["partition"], offset: request.parameters["offset"],
                        of: incoming.visitor.app.id)
                } then: {
                    desk.show(incoming, $0)
                }
            }
        }
        for (word, deed) in [("redrive", LetterDesk.Deed.redrive), ("discard", .discard)] {
            routes.onJudged(.post, Self.path + "/" + word, bodyBytesMax: Self.bodyBytesMax) { request in
                entrance.judge(request, for: .admin) { desk.act($0, deed) }
            }
        }
    }

    private static func asking(
        _ incoming: Incoming, _ query: (HTTPRequest) throws(RefusedRequest) -> LetterQuery,
        then: (LetterQuery) -> Bool
    ) -> Bool {
        do throws(RefusedRequest) { return then(try query(incoming.request)) } catch {
            incoming.reply.send(error.response)
            return true
        }
    }
}
