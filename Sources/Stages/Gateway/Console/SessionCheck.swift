internal import Cryptography
internal import HTTPServer
internal import LiveActivity
internal import Telemetry

/// The check of a request's console session and of its origin.
struct SessionCheck: Sendable {
    /// The header with the session's token.
    static let tokenHeader = "flotilla-console"

    enum SessionVerdict: Equatable {
        /// The request has no session cookie, or it also has a key.
        case none
        case session(ConsoleSession)
        /// The session has expired, or no gateway with these sealing keys made it.
        case ended
        /// A browser sent the cookie on behalf of another site.
        case foreign
    }

    let seal: SessionSeal

    func verdict(on headers: HTTPHeaders, now: WallTime) -> SessionVerdict {
        guard headers["authorization"] == nil, headers["x-netmera-api-key"] == nil,
            let cookie = SessionCookie.value(in: headers)
        else { return .none }
        let token = Array(SessionSeal.token(for: cookie).utf8)
        guard Self.isSameSite(headers), let brought = headers[Self.tokenHeader],
            isEqualInConstantTime(Array(brought.utf8), token)
        else { return .foreign }
        return session(in: cookie, now: now).map(SessionVerdict.session) ?? .ended
    }

    /// Returns the session in the cookie, or nil if it is invalid or has ended.
    func session(in cookie: String, now: WallTime) -> ConsoleSession? {
        guard let session = seal.session(in: cookie), !session.hasEnded(at: now) else { return nil }
        return session
    }

    /// Whether the browser reports the console's own site as the origin. Browsers omit the header on a page
    /// without TLS on another machine. Then only the token decides.
    static func isSameSite(_ headers: HTTPHeaders) -> Bool {
        guard let site = headers["sec-fetch-site"] else { return true }
        return site == "same-origin" || site == "none"
    }

    static let endedResponse = HTTPResponse.error(
        status: 401, code: "session_ended", message: "this session has ended; log in again at /console")
    static let foreignResponse = HTTPResponse.error(
        status: 403, code: "session_foreign",
        message: "only the console's own pages may use a session; use an API key")
}
