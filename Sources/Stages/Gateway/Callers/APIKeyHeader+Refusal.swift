internal import Catalog
internal import CatalogRecords
internal import HTTPServer

// The answers to callers whose key is refused.

extension APIKeyHeader {
    /// Returns the answer to a caller without access, and its reason as a label for metrics. Returns nil if access is
    /// granted.
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
