internal import HTTPClient
internal import HTTPServer
internal import LiveActivity

/// The `GET` calls that the insight stage answers. The insight stage checks their parameters.
struct InsightEndpoint: Sendable {
    let entrance: Entrance
    let relay: InsightRelay

    private static let calls: [(path: String, name: InsightCall.Name)] = [
        ("/v1/sends", .sends), ("/v1/groups", .groups), ("/v1/groups/{id}", .group),
        ("/v1/groups/{id}/timeline", .timeline), ("/v1/users/{id}", .user),
        ("/v1/installations/{id}", .installation), ("/v1/events", .events),
        ("/v1/events/counts", .eventCounts), ("/v1/fleet", .fleet), ("/v1/audit", .audit),
    ]

    func add(to routes: inout HTTPRoutes) {
        for (path, name) in Self.calls {
            routes.onJudged(.get, path) { [self] request in
                entrance.judge(request, for: .read) { incoming in ask(name, incoming) }
            }
        }
    }

    /// Asks the insight stage. Returns false if too many queries wait.
    private func ask(_ name: InsightCall.Name, _ incoming: Incoming) -> Bool {
        let request = incoming.request
        let call = InsightCall(
            name, app: incoming.visitor.app.id, id: request.parameters["id"],
            parameters: request.query.map { InsightCall.Parameter($0.name, $0.value) })
        let format = name == .events ? request.query("format") : nil
        let reply = incoming.reply
        return relay.ask(call) { answer in reply.send(Self.response(answer, format: format)) }
    }

    private static func response(_ answer: HTTPAnswer?, format: String?) -> HTTPResponse {
        guard let answer, let body = answer.body, (200...599).contains(answer.status) else {
            return Unavailable.insightAway
        }
        guard answer.status == 200, let format, format != "json" else {
            return .json(body, status: answer.status)
        }
        return file(body, format)
    }

    /// Returns a file of events. The first line of the body is the next cursor and goes into a header.
    private static func file(_ body: [UInt8], _ format: String) -> HTTPResponse {
        let end = body.firstIndex(of: 0x0A) ?? body.endIndex
        let next = String(decoding: body[..<end], as: UTF8.self)
        var response = HTTPResponse(
            headers: [
                "Content-Type": format == "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
                "Content-Disposition": "attachment; filename=\"events.\(format)\"",
            ], body: Array(body[end...].dropFirst()))
        if !next.isEmpty { response.headers.add("Next-Cursor", next) }
        return response
    }
}
