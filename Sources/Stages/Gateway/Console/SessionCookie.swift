internal import HTTPServer
internal import Identifiers

/// A session cookie in HTTP headers. A browser has one for each app whose key has logged in.
struct SessionCookie: Sendable, Equatable {
    /// The beginning of the name. The app's id follows.
    static let namePrefix = "flotilla_session."
    /// The limit of sessions of one browser. Further cookies are ignored.
    static let sessionsMax = 20
    /// The longest header line that is searched.
    private static let lineBytesMax = 16_384
    /// The longest value that counts as a session.
    private static let valueBytesMax = 512

    let app: String
    let value: String

    /// Returns the session cookies in the headers. A name that occurs several times does not count, because a page of
    /// another host can add a cookie of the same name.
    static func all(in headers: HTTPHeaders) -> [SessionCookie] {
        var found: [SessionCookie] = []
        var repeated: Set<String> = []
        for line in headers.all(named: "cookie") where line.utf8.count <= lineBytesMax {
            for part in line.split(separator: ";") {
                let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0].hasPrefix(namePrefix) else { continue }
                let app = String(pair[0].dropFirst(namePrefix.count))
                guard AppIDRules.problem(app) == nil else { continue }
                if found.contains(where: { $0.app == app }) { repeated.insert(app) }
                guard pair[1].utf8.count <= valueBytesMax, found.count < sessionsMax else { continue }
                found.append(SessionCookie(app: app, value: String(pair[1])))
            }
        }
        return found.filter { !repeated.contains($0.app) }
    }

    /// Returns the value of the header `Set-Cookie`.
    ///
    /// - Parameters:
    ///   - seconds: The lifetime of the cookie. 0 deletes it.
    ///   - isSecure: Whether the page came by TLS. Then the browser never sends the cookie without TLS.
    func headerLine(seconds: Int, isSecure: Bool) -> String {
        "\(Self.namePrefix)\(app)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}
