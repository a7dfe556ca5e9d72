internal import Catalog
internal import CatalogRecords
internal import HTTPServer

/// The API key in a request's headers, and the answers to callers whose key is refused.
enum APIKeyHeader {
    private static let keyBytesMax = 256

    /// Returns the request's only key: `KEY` of `Authorization: Bearer KEY` or of `X-netmera-api-key: KEY`.
    /// Returns nil if the request has no such header or several.
    static func key(in headers: HTTPHeaders, style: APIKeyStyle = .bearer) -> Substring? {
        switch style {
        case .bearer:
            guard let value = onlyValue(named: "authorization", in: headers) else { return nil }
            let parts = value.split(separator: " ")
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return parts[1]
        case .netmera:
            guard let value = onlyValue(named: "x-netmera-api-key", in: headers) else { return nil }
            let parts = value.split(separator: " ")
            return parts.count == 1 ? parts[0] : nil
        }
    }

    private static func onlyValue(named name: String, in headers: HTTPHeaders) -> String? {
        let values = headers.all(named: name)
        return values.count == 1 && values[0].utf8.count <= keyBytesMax ? values[0] : nil
    }

    /// Returns the reason of a refusal, for metrics, and the answer. Returns nil if access is granted.
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
