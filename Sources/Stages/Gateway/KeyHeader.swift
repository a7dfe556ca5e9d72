internal import Catalog
internal import HTTPServer
internal import LiveActivity

/// The key in a request's headers, and the answers to callers whose key is refused.
enum KeyHeader {
    /// Returns the request's only key, or nil if the request has zero or several.
    static func key(in headers: HTTPHeaders, _ style: KeyStyle = .bearer) -> Substring? {
        switch style {
        case .bearer:
            guard let line = only("authorization", in: headers) else { return nil }
            let parts = line.split(separator: " ")
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return parts[1]
        case .netmera:
            guard let line = only("x-netmera-api-key", in: headers) else { return nil }
            let parts = line.split(separator: " ")
            return parts.count == 1 ? parts[0] : nil
        }
    }

    private static func only(_ name: String, in headers: HTTPHeaders) -> String? {
        let lines = headers.all(name)
        return lines.count == 1 && lines[0].utf8.count <= keyBytesMax ? lines[0] : nil
    }

    private static let keyBytesMax = 256

    /// Returns the reason and the answer of a refusal, or nil if access is granted.
    static func refusal(
        _ access: Access, _ style: KeyStyle = .bearer
    ) -> (reason: StaticString, response: HTTPResponse)? {
        switch access {
        case .granted: return nil
        case .unknown: return ("unknown", unauthorized("key_unknown", style.remedy))
        case .revoked:
            return ("revoked", unauthorized("key_revoked", "this key has been revoked; use another"))
        case .expired: return ("expired", unauthorized("key_expired", "this key has expired; use another"))
        case .forbidden(let key):
            return (
                "forbidden",
                .error(
                    403, "key_forbidden",
                    message: "a key with the role \(key.role.rawValue) may not do this; use another key")
            )
        case .withoutApp(let key):
            return (
                "without_app",
                .error(403, "app_unknown", message: "the app \(key.app) of this key has been deleted")
            )
        }
    }

    private static func unauthorized(_ code: String, _ message: String) -> HTTPResponse {
        var response = HTTPResponse.error(401, code, message: message)
        response.headers.add("WWW-Authenticate", "Bearer")
        return response
    }
}
