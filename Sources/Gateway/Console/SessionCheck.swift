internal import Cryptography
internal import HTTPServer
internal import LiveActivity
internal import Telemetry

/// Whether a request comes by a session of the console, and whether it comes from the console's own pages.
struct SessionCheck: Sendable {
    /// The header that brings the session's token.
    static let tokenHeader = "flotilla-console"

    enum Verdict: Equatable {
        /// It shows no cookie, or a key beside it.
        case none
        case session(ConsoleSession)
        /// Of no gateway with these keys, or too old.
        case ended
        /// A browser sent the cookie for a page that is not the console's.
        case foreign
    }

    let seal: SessionSeal

    func verdict(on headers: HTTPHeaders, now: WallTime) -> Verdict {
        guard headers["authorization"] == nil, headers["x-netmera-api-key"] == nil,
            let cookie = SessionCookie.value(in: headers)
        else { return .none }
        let token = Array(SessionSeal.token(for: cookie).utf8)
        guard Self.isOwnSite(headers), let brought = headers[Self.tokenHeader],
            equalInConstantTime(Array(brought.utf8), token)
        else { return .foreign }
        return session(in: cookie, now: now).map(Verdict.session) ?? .ended
    }

    /// By the cookie alone; nil when it is no session, or no more.
    func session(in cookie: String, now: WallTime) -> ConsoleSession? {
        guard let session = seal.session(in: cookie), !session.hasEnded(at: now) else { return nil }
        return session
    }

    /// Browsers say from where a call comes. Where they do not (a page without TLS on another machine), the
    /// token alone decides.
    static func isOwnSite(_ headers: HTTPHeaders) -> Bool {
        guard let site = headers["sec-fetch-site"] else { return true }
        return site == "same-origin" || site == "none"
    }

    static let ended = HTTPResponse.error(
        401, "session_ended", message: "this session has ended; log in again at /console")
    static let foreign = HTTPResponse.error(
        403, "session_foreign", message: "a session is good for calls by the console's own pages only")
}
