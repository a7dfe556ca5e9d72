internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import StageSupport
internal import Telemetry

/// `/console/session`: `POST` logs in with an API key, `GET` returns the browser's session, `DELETE` logs out.
struct SessionEndpoint: Sendable {
    static let path = "/console/session"

    let authorization: Authorization
    let worker: RequestWorker
    let environment: StageEnvironment
    let clock: GatewayClock

    func add(to routes: inout HTTPRoutes) {
        routes.onAdmission(.post, path: Self.path) { [self] in admitLogIn($0) }
        routes.on(.get, path: Self.path) { currentSession(for: $0) }
        routes.on(.delete, path: Self.path) { logOut($0) }
    }

    /// Admits a log-in. The key comes in a header, as in every other call. A form of another site cannot send that
    /// header.
    private func admitLogIn(_ request: HTTPRequest) -> HTTPAdmission {
        guard SessionCheck.isSameSite(request.headers) else {
            return .refused(SessionCheck.otherSiteResponse)
        }
        let seal = authorization.sessionCheck.seal
        guard seal.canSeal else { return .refused(Self.withoutSealingKeys) }
        return authorization.admit(request, for: .read) { [worker] authorized in
            worker.accept(authorized, as: .session) { context throws(RefusedRequest) in
                try context.refuseBody()
                return Self.logIn(authorized, in: context, sealedBy: seal)
            }
        }
    }

    /// Stores the log-in in the audit, and answers with the cookie of a new session.
    private static func logIn(
        _ authorized: AuthorizedRequest, in context: RequestContext, sealedBy seal: SessionSeal
    ) -> RequestDecision {
        let key = authorized.caller.key
        let session = ConsoleSession(of: key, startedAt: context.acceptedAt)
        guard let cookie = seal.cookie(for: session) else { return .answer(withoutSealingKeys) }
        var response = response(key: key, session: session, cookie: cookie)
        // The gateway serves without TLS, so only the browser knows whether the page came by TLS.
        let isSecure = authorized.request.headers["origin"]?.hasPrefix("https:") == true
        response.headers.add(
            "Set-Cookie",
            value: SessionCookie.headerLine(
                value: cookie, seconds: ConsoleSession.lifetimeHours * 3600, isSecure: isSecure))
        return .store([context.auditRecord(action: "console.login", subject: key.id)], response)
    }

    /// Returns the browser's session to a page that was just loaded. The call needs no token, because the page
    /// gets the token from this answer.
    private func currentSession(for request: HTTPRequest) -> HTTPResponse {
        guard SessionCheck.isSameSite(request.headers) else { return SessionCheck.otherSiteResponse }
        guard let catalog = environment.catalog else { return Unavailable.notReady }
        let now = clock.now
        // The browser is not logged in, which is not an error.
        guard let cookie = SessionCookie.value(in: request.headers) else { return HTTPResponse(status: 204) }
        guard let session = authorization.sessionCheck.session(in: cookie, now: now) else {
            return SessionCheck.endedResponse
        }
        switch session.access(in: catalog, for: .read, now: now) {
        case .granted(let key, _): return Self.response(key: key, session: session, cookie: cookie)
        case let access: return APIKeyHeader.refusal(for: access)?.response ?? SessionCheck.endedResponse
        }
    }

    /// Deletes the browser's cookie. The session stays valid until it ends, because no gateway stores it.
    private func logOut(_ request: HTTPRequest) -> HTTPResponse {
        if case .fromAnotherSite = authorization.sessionCheck.verdict(on: request.headers, now: clock.now) {
            return SessionCheck.otherSiteResponse
        }
        return HTTPResponse(
            status: 204,
            headers: ["Set-Cookie": SessionCookie.headerLine(value: "", seconds: 0, isSecure: false)])
    }

    /// Returns the session to the console's page, with the token that the page must send in each call.
    private static func response(
        key: APIKey, session: ConsoleSession, cookie: String
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
        response.headers.add("Cache-Control", value: "no-store")
        return response
    }

    private static let withoutSealingKeys = HTTPResponse.error(
        status: 503, code: "console_without_keys",
        message:
            "the console needs sealing keys; set tokens.sealing-keys-file to the same file in every process")
}
