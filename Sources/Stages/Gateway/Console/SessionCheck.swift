internal import Cryptography
internal import HTTPServer
internal import Telemetry

/// The check of a request that has the cookie of a console session. A browser sends the cookie with every
/// request to this host, also if a page of another site makes the request. So a call with a session must also
/// have a token, which only the console's own pages know (`SessionSeal.token`). A browser can have sessions of several
/// apps, and the token selects one of them.
struct SessionCheck: Sendable {
    /// The header with the session's token.
    static let tokenHeader = "flotilla-console"

    /// The result of the check.
    enum SessionVerdict: Equatable {
        /// The request has no session cookie, or it also has a key.
        case none
        case session(ConsoleSession)
        /// The session has expired, or no gateway with these sealing keys made it.
        case ended
        /// The request has the token of no session, or the browser marks it as a request of another site.
        case fromAnotherSite
    }

    let seal: SessionSeal

    /// Checks the session of a request, its site and its token. A request with a key does not use its session.
    func verdict(on headers: HTTPHeaders, now: WallTime) -> SessionVerdict {
        let hasKey = headers["authorization"] != nil || headers["x-netmera-api-key"] != nil
        if hasKey { return .none }
        let cookies = SessionCookie.all(in: headers)
        if cookies.isEmpty { return .none }
        guard Self.isSameSite(headers), let cookie = Self.cookie(of: headers, in: cookies) else {
            return .fromAnotherSite
        }
        return session(in: cookie.value, now: now).map(SessionVerdict.session) ?? .ended
    }

    /// Returns the cookie whose token the request has.
    static func cookie(of headers: HTTPHeaders, in cookies: [SessionCookie]) -> SessionCookie? {
        guard let sentToken = headers[Self.tokenHeader].map({ Array($0.utf8) }) else { return nil }
        return cookies.first {
            isEqualInConstantTime(sentToken, Array(SessionSeal.token(for: $0.value).utf8))
        }
    }

    /// Returns the session in the cookie, or nil if it is invalid or has ended.
    func session(in cookie: String, now: WallTime) -> ConsoleSession? {
        guard let session = seal.session(in: cookie), !session.hasEnded(at: now) else { return nil }
        return session
    }

    /// Whether the header `Sec-Fetch-Site` names no other site as the origin of the request. `none` stands for the
    /// user, for example a typed address. Browsers omit the header if the gateway is on another machine and has no TLS.
    /// Then only the token decides.
    static func isSameSite(_ headers: HTTPHeaders) -> Bool {
        guard let site = headers["sec-fetch-site"] else { return true }
        return site == "same-origin" || site == "none"
    }

    static let endedResponse = HTTPResponse.error(
        status: 401, code: "session_ended", message: "this session has ended; log in again at /console")
    static let otherSiteResponse = HTTPResponse.error(
        status: 403, code: "session_foreign",
        message: "only the console's own pages may use a session; use an API key")
}
