internal import Catalog
internal import HTTPServer
internal import LiveActivity

/// The key in a request's headers, and the answers to callers whose key is refused.
enum APIKeyHeader {
    /// Returns the request's only key, or nil if the request has zero or several.
    static func key(in headers: HTTPHeaders, style: APIKeyStyle = .bearer) -> Substring? {
        switch style {
        case .bearer:
            guard let line = onlyValue(named: "authorization", in: headers) else { return nil }
            let parts = line.split(separator: " ")
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return parts[1]
        case .netmera:
            guard let line = onlyValue(named: "x-netmera-api-key", in: headers) else { return nil }
            let parts = line.split(separator: " ")
            return parts.count == 1 ? parts[0] : nil
        }
    }

    private static func onlyValue(named name: String, in headers: HTTPHeaders) -> String? {
        let lines = headers.all(named: name)
        return lines.count == 1 && lines[0].utf8.count <= keyBytesMax ? lines[0] : nil
    }

    private static let keyBytesMax = 256

    /// Returns the reason and the answer of a refusal, or nil if access is granted.
    static func refusal(
        for access: AccessDecision, style: APIKeyStyle = .bearer
    ) -> (reason: StaticString, response: HTTPResponse)? {
        switch access {
        case .granted: return nil
        case .unknown: return ("unknown", unauthorized(code: "key_unknown", message: style.remedy))
        case .revoked:
            return (
                "revoked",
                unauthorized(code: "key_revoked", message: "this key has been revoked; use another")
            )
        case .expired:
            return (
                "expired", unauthorized(code: "key_expired", message: "this key has expired; use another")
            )
        case .forbidden(let key):
            return (
                "forbidden",
                .error(
                    status: 403, code: "key_forbidden",
                    message: "a key with the role \(key.role.rawValue) may not do this; use another key")
            )
        case .withoutApp(let key):
            return (
                "without_app",
                .error(
                    status: 403, code: "app_unknown",
                    message: "the app \(key.app) of this key has been deleted")
            )
        }
    }

    private static func unauthorized(code: String, message: String) -> HTTPResponse {
        var response = HTTPResponse.error(status: 401, code: code, message: message)
        response.headers.add("WWW-Authenticate", value: "Bearer")
        return response
    }
}
