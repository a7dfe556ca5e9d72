internal import Catalog
internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import StageSupport
internal import Telemetry

/// `/console/session`: log-in with an API key, the current session, and log-out.
struct SessionEndpoint: Sendable {
    static let path = "/console/session"

    let entrance: Entrance
    let worker: RequestWorker
    let environment: StageEnvironment
    let clock: GatewayClock

    func add(to routes: inout HTTPRoutes) {
        let (entrance, worker) = (entrance, worker)
        let sessions = entrance.sessions
        // The key comes in a header, as in every other call. A form of another site cannot send that header.
        routes.onJudged(.post, Self.path) { request in
            guard SessionCheck.isOwnSite(request.headers) else { return .refused(SessionCheck.foreign) }
            guard sessions.seal.canSeal else { return .refused(Self.withoutKeys) }
            return entrance.judge(request, for: .read) { incoming in
                worker.take(incoming, about: .session) { context throws(RefusedRequest) in
                    try context.refuseBody()
                    return Self.logIn(incoming, context, sealedBy: sessions.seal)
                }
            }
        }
        routes.on(.get, Self.path) { who($0) }
        routes.on(.delete, Self.path) { [clock] request in
            if case .foreign = sessions.verdict(on: request.headers, now: clock.now) {
                return SessionCheck.foreign
            }
            return HTTPResponse(
                status: 204, headers: ["Set-Cookie": SessionCookie.line("", seconds: 0, isSecure: false)])
        }
    }

    private static func logIn(
        _ incoming: Incoming, _ context: RequestContext, sealedBy seal: SessionSeal
    ) -> RequestDecision {
        let key = incoming.visitor.key
        let session = ConsoleSession(of: key, startedAt: max(0, context.now.milliseconds))
        guard let cookie = seal.cookie(for: session) else { return .answer(withoutKeys) }
        var response = answer(key, session, cookie: cookie)
        let isSecure = incoming.request.headers["origin"]?.hasPrefix("https:") == true
        response.headers.add(
            "Set-Cookie",
            SessionCookie.line(cookie, seconds: ConsoleSession.hours * 3600, isSecure: isSecure))
        return .store([context.audit("console.login", subject: key.id)], response)
    }

    /// Returns the session of a page that was just loaded. It needs only the cookie, because the page gets
    /// the token from this answer.
    private func who(_ request: HTTPRequest) -> HTTPResponse {
        guard SessionCheck.isOwnSite(request.headers) else { return SessionCheck.foreign }
        guard let catalog = environment.catalog else { return Unavailable.notReady }
        let now = clock.now
        // The browser is not logged in, which is not an error.
        guard let cookie = SessionCookie.value(in: request.headers) else { return HTTPResponse(status: 204) }
        guard let session = entrance.sessions.session(in: cookie, now: now) else { return SessionCheck.ended }
        switch session.access(in: catalog, for: .read, now: now) {
        case .granted(let key, _): return Self.answer(key, session, cookie: cookie)
        case let access: return KeyHeader.refusal(access)?.response ?? SessionCheck.ended
        }
    }

    private static func answer(
        _ key: APIKey, _ session: ConsoleSession, cookie: String
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.field("app", key.app)
        json.field("keyId", key.id)
        json.field("keyName", key.name)
        json.field("role", key.role.rawValue)
        json.field("endsAt", min(session.endsAt, key.expiresAt ?? .max))
        json.field("token", SessionSeal.token(for: cookie))
        json.endObject()
        var response = HTTPResponse.json(json.bytes)
        response.headers.add("Cache-Control", "no-store")
        return response
    }

    private static let withoutKeys = HTTPResponse.error(
        503, "console_without_keys",
        message:
            "the console needs sealing keys; set tokens.sealing-keys-file to the same file in every process")
}
