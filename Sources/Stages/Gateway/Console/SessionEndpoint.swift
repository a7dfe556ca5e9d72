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
        guard let value = seal.cookie(for: session) else { return .answer(withoutSealingKeys) }
        let cookie = SessionCookie(app: key.app, value: value)
        var response = response(with: BrowserSession(key: key, session: session, cookie: cookie))
        // A proxy before the gateway can end the TLS connection, so only the browser knows whether the page came by TLS.
        let isSecure = authorized.request.headers["origin"]?.hasPrefix("https:") == true
        response.headers.add(
            "Set-Cookie",
            value: cookie.headerLine(seconds: ConsoleSession.lifetimeHours * 3600, isSecure: isSecure))
        return .store([context.auditRecord(action: "console.login", subject: key.id)], response)
    }

    /// A session of a browser, with its key as the catalog has it now.
    private struct BrowserSession {
        let key: APIKey
        let session: ConsoleSession
        let cookie: SessionCookie
    }

    /// Returns the browser's sessions to a page that was just loaded: first the one of the app that the parameter `app`
    /// names, otherwise the newest. The call needs no token, because the page gets the tokens from this answer.
    private func currentSession(for request: HTTPRequest) -> HTTPResponse {
        guard SessionCheck.isSameSite(request.headers) else { return SessionCheck.otherSiteResponse }
        guard let catalog = environment.catalog else { return Unavailable.notReady }
        let now = clock.now
        let cookies = SessionCookie.all(in: request.headers)
        // A browser that is not logged in is not an error.
        if cookies.isEmpty { return HTTPResponse(status: 204) }
        var sessions: [BrowserSession] = []
        // The refusal of the last session whose key has no access, for a browser without a valid session.
        var refusal: HTTPResponse?
        for cookie in cookies {
            guard let session = authorization.sessionCheck.session(in: cookie.value, now: now) else {
                continue
            }
            switch session.access(in: catalog, for: .read, now: now) {
            case .granted(let key, _):
                if key.app == cookie.app {
                    sessions.append(BrowserSession(key: key, session: session, cookie: cookie))
                }
            case let access: refusal = APIKeyHeader.refusal(for: access)?.response
            }
        }
        let wantedApp = request.query(named: "app")
        sessions.sort { first, second in
            let (isFirstWanted, isSecondWanted) = (first.key.app == wantedApp, second.key.app == wantedApp)
            if isFirstWanted != isSecondWanted { return isFirstWanted }
            return first.session.startedAt > second.session.startedAt
        }
        guard let first = sessions.first else { return refusal ?? SessionCheck.endedResponse }
        return Self.response(with: first, others: Array(sessions.dropFirst()))
    }

    /// Deletes the browser's cookie of the session whose token the request has. The session stays valid until it ends,
    /// because no gateway stores it.
    private func logOut(_ request: HTTPRequest) -> HTTPResponse {
        if case .fromAnotherSite = authorization.sessionCheck.verdict(on: request.headers, now: clock.now) {
            return SessionCheck.otherSiteResponse
        }
        var response = HTTPResponse(status: 204)
        let cookies = SessionCookie.all(in: request.headers)
        if let cookie = SessionCheck.cookie(of: request.headers, in: cookies) {
            let emptied = SessionCookie(app: cookie.app, value: "")
            response.headers.add("Set-Cookie", value: emptied.headerLine(seconds: 0, isSecure: false))
        }
        return response
    }

    /// Returns a session to the console's page, with the token that the page must send in each call.
    private static func response(
        with session: BrowserSession, others: [BrowserSession] = []
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        write(session, to: &json)
        if !others.isEmpty { json.objects("others", of: others) { write($0, to: &$1) } }
        json.endObject()
        var response = HTTPResponse.json(json.bytes)
        response.headers.add("Cache-Control", value: "no-store")
        return response
    }

    private static func write(_ session: BrowserSession, to json: inout JSONWriter) {
        let key = session.key
        json.field("app", key.app)
        json.field("keyId", key.id)
        json.field("keyName", key.name)
        json.field("role", key.role.rawValue)
        json.field("endsAt", min(session.session.endsAt, key.expiresAt ?? .max))
        json.field("token", SessionSeal.token(for: session.cookie.value))
    }

    private static let withoutSealingKeys = HTTPResponse.error(
        status: 503, code: "console_without_keys",
        message:
            "the console needs sealing keys; set tokens.sealing-keys-file to the same file in every process")
}
