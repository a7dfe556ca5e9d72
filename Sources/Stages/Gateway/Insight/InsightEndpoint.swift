internal import HTTPClient
internal import HTTPServer
internal import LiveActivity

/// The `GET` calls that the insight stage answers. The insight stage checks their parameters.
struct InsightEndpoint: Sendable {
    let authorization: Authorization
    let relay: InsightRelay

    private static let calls: [(path: String, name: InsightQuery.Kind)] = [
        ("/v1/sends", .sends), ("/v1/groups", .groups), ("/v1/groups/{id}", .group),
        ("/v1/groups/{id}/timeline", .timeline), ("/v1/users/{id}", .user),
        ("/v1/installations/{id}", .installation), ("/v1/events", .events),
        ("/v1/events/counts", .eventCounts), ("/v1/fleet", .fleet), ("/v1/audit", .audit),
    ]

    func add(to routes: inout HTTPRoutes) {
        for (path, name) in Self.calls {
            routes.onAdmission(.get, path: path) { [self] request in
                authorization.admit(request, for: .read) { incoming in ask(name, for: incoming) }
            }
        }
    }

    /// Asks the insight stage. Returns false if too many queries wait.
    private func ask(_ name: InsightQuery.Kind, for incoming: AuthorizedRequest) -> Bool {
        let request = incoming.request
        let call = InsightQuery(
            name, app: incoming.caller.app.id, id: request.parameters["id"],
            parameters: request.query.map { InsightQuery.Parameter(name: $0.name, value: $0.value) })
        let format = name == .events ? request.query(named: "format") : nil
        let reply = incoming.reply
        return relay.ask(call) { answer in reply.send(Self.response(from: answer, format: format)) }
    }

    private static func response(from answer: HTTPClientResponse?, format: String?) -> HTTPResponse {
        guard let answer, let body = answer.body, (200...599).contains(answer.status) else {
            return Unavailable.insightUnavailable
        }
        guard answer.status == 200, let format, format != "json" else {
            return .json(body, status: answer.status)
        }
        return file(body: body, format: format)
    }

    /// Returns a file of events. The first line of the body is the next cursor and goes into a header.
    private static func file(body: [UInt8], format: String) -> HTTPResponse {
        let end = body.firstIndex(of: 0x0A) ?? body.endIndex
        let next = String(decoding: body[..<end], as: UTF8.self)
        var response = HTTPResponse(
            headers: [
                "Content-Type": format == "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
                "Content-Disposition": "attachment; filename=\"events.\(format)\"",
            ], body: Array(body[end...].dropFirst()))
        if !next.isEmpty { response.headers.add("Next-Cursor", value: next) }
        return response
    }
}
