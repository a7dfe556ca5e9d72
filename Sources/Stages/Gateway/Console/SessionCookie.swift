internal import HTTPServer

/// The session cookie in HTTP headers.
enum SessionCookie {
    static let name = "flotilla_session"
    /// The longest header line that is searched.
    private static let lineBytesMax = 8192
    /// The longest value that counts as a session.
    private static let valueBytesMax = 512

    /// Returns the value of the only session cookie, or nil if the headers have none or several.
    static func value(in headers: HTTPHeaders) -> String? {
        var value: String?
        for line in headers.all(named: "cookie") where line.utf8.count <= lineBytesMax {
            for part in line.split(separator: ";") {
                let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0] == name else { continue }
                guard value == nil, pair[1].utf8.count <= valueBytesMax else { return nil }
                value = String(pair[1])
            }
        }
        return value
    }

    /// Returns the value of the header `Set-Cookie`.
    ///
    /// - Parameters:
    ///   - seconds: The lifetime of the cookie. 0 deletes it.
    ///   - isSecure: Whether the page came by TLS. Then the browser never sends the cookie without TLS.
    static func headerLine(value: String, seconds: Int, isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}
