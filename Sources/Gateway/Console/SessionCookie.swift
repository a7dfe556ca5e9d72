internal import HTTPServer

/// The cookie as it stands in headers.
enum SessionCookie {
    static let name = "flotilla_session"
    /// A header line that is longer is not looked through.
    private static let lineBytesMax = 8192
    private static let valueBytesMax = 512

    /// The one cookie of this name; nil when there is none, or more than one.
    static func value(in headers: HTTPHeaders) -> String? {
        var found: String?
        for line in headers.all("cookie") where line.utf8.count <= lineBytesMax {
            for part in line.split(separator: ";") {
                let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0] == name else { continue }
                guard found == nil, pair[1].utf8.count <= valueBytesMax else { return nil }
                found = String(pair[1])
            }
        }
        return found
    }

    /// - Parameter isSecure: the page came by TLS; a browser then never sends it without.
    static func line(_ value: String, seconds: Int, isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}
