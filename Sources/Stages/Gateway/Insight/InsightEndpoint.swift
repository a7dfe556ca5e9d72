internal import Catalog
internal import CatalogRecords
internal import HTTPClient
internal import HTTPServer
internal import Members
internal import StageSupport

/// The `GET` calls that the insight stage answers. The gateway passes them on, and the insight stage checks their
/// parameters. Its answers go to the client unchanged, except files.
struct InsightEndpoint: Sendable {
    let authorization: Authorization
    let environment: StageEnvironment
    let relay: InsightRelay

    private static let calls: [(path: String, kind: InsightQuery.Kind)] = [
        ("/v1/sends", .sends), ("/v1/sends/{id}/failures", .failures), ("/v1/series", .series),
        ("/v1/groups", .groups), ("/v1/groups/{id}", .group),
        ("/v1/groups/{id}/timeline", .timeline), ("/v1/users", .users), ("/v1/users/{id}", .user),
        ("/v1/installations", .installations), ("/v1/installations/{id}", .installation),
        ("/v1/events", .events),
        ("/v1/events/counts", .eventCounts), ("/v1/fleet", .fleet), ("/v1/audit", .audit),
    ]

    func add(to routes: inout HTTPRoutes) {
        addDeliveries(to: &routes)
        for (path, kind) in Self.calls {
            routes.onAdmission(.get, path: path) { [self] request in
                authorization.admit(request, for: .read) { authorized in
                    // Only a key with the role `admin` sees the processes and the breakers of other apps.
                    let isLimitedToApp = kind == .fleet && !authorized.caller.key.role.includes(.admin)
                    return ask(isLimitedToApp ? .fleetOfApp : kind, for: authorized)
                }
            }
        }
    }

    /// Adds the call about the deliveries of a webhook endpoint. It needs the role `admin`, like all calls about endpoints.
    private func addDeliveries(to routes: inout HTTPRoutes) {
        routes.onAdmission(.get, path: "/v1/webhooks/{name}/deliveries") { [self] request in
            authorization.admit(request, for: .admin) { authorized in
                let name = authorized.request.parameters["name"] ?? ""
                let known = environment.catalog?.webhooks(of: authorized.caller.app.id) ?? [:]
                guard known[name] != nil else {
                    authorized.reply.send(WebhookCalls.unknownEndpoint.response)
                    return true
                }
                return ask(.deliveries, about: name, for: authorized)
            }
        }
    }

    /// Asks the insight stage. Returns false if too many queries wait.
    ///
    /// - Parameter id: The object of the query, if it is not the `id` in the path.
    private func ask(
        _ kind: InsightQuery.Kind, about id: String? = nil, for authorized: AuthorizedRequest
    ) -> Bool {
        let request = authorized.request
        let query = InsightQuery(
            kind, app: authorized.caller.app.id, key: authorized.caller.key.id,
            id: id ?? request.parameters["id"],
            parameters: request.query.map { InsightQuery.Parameter(name: $0.name, value: $0.value) })
        let file = Self.requestedFile(of: kind, in: request)
        let reply = authorized.reply
        let admission = relay.ask(query) { answer in
            reply.send(Self.response(from: answer, file: file, to: request))
        }
        switch admission {
        case .asked: return true
        case .overloaded: return false
        case .tooManyOfKey:
            reply.send(Unavailable.tooManyQuestions)
            return true
        }
    }

    /// Returns the response to the client.
    ///
    /// - Parameters:
    ///   - answer: The answer of an insight process, or nil if no process answered.
    ///   - file: The file that the client requested instead of JSON, or nil.
    private static func response(
        from answer: HTTPClientResponse?, file: (name: String, format: String)?, to request: HTTPRequest
    ) -> HTTPResponse {
        guard let answer, let body = answer.body, (200...599).contains(answer.status) else {
            return Unavailable.insightUnavailable
        }
        guard answer.status == 200 else {
            var response = HTTPResponse.json(body, status: answer.status)
            // The headers of the insight stage's answer do not reach the gateway.
            if [429, 503].contains(answer.status) {
                response.headers.add("Retry-After", value: "\(GatewayLimits.queryRetrySeconds)")
            }
            return response
        }
        if let file { return response(from: body, name: file.name, format: file.format) }
        return PolledAnswer.response(body, to: request)
    }

    /// Returns the name and the format of the file that the client requests with the parameter `format`. Returns nil if
    /// the client requests JSON, or if the call has only JSON.
    private static func requestedFile(
        of kind: InsightQuery.Kind, in request: HTTPRequest
    ) -> (name: String, format: String)? {
        guard let format = request.query(named: "format"), format != "json" else { return nil }
        switch kind {
        case .events: return ("events", format)
        case .failures: return ("failures", format)
        default: return nil
        }
    }

    /// Returns a file. The first line of the insight stage's answer is the cursor of the next page, or empty
    /// on the last page. It goes into a header. The other lines are the file.
    private static func response(from answer: [UInt8], name: String, format: String) -> HTTPResponse {
        let lineEnd = answer.firstIndex(of: UInt8(ascii: "\n")) ?? answer.endIndex
        let nextCursor = String(decoding: answer[..<lineEnd], as: UTF8.self)
        var response = HTTPResponse(
            headers: [
                "Content-Type": format == "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
                "Content-Disposition": "attachment; filename=\"\(name).\(format)\"",
            ], body: Array(answer[lineEnd...].dropFirst()))
        if !nextCursor.isEmpty { response.headers.add("Next-Cursor", value: nextCursor) }
        return response
    }
}
