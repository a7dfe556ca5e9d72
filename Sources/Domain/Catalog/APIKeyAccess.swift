package import CatalogRecords
internal import Cryptography
package import Telemetry

/// The result of the check whether an API key allows an operation.
package enum AccessDecision: Sendable, Equatable {
    /// The key is valid and allows the operation. Its app exists.
    case granted(APIKey, App)
    /// The text was never a key, belongs to no record, or has a wrong secret. The answer does not say which.
    case unknown
    case revoked
    case expired
    /// The key is valid but does not allow this operation.
    case forbidden(APIKey)
    /// The key is valid, but its app has been deleted.
    case withoutApp(APIKey)
}

extension CatalogSnapshot {
    /// The hash for the comparison if the key does not exist. So the check takes equally long, and its duration does
    /// not show which keys exist.
    private static let placeholderHash = [UInt8](repeating: 0, count: SHA256.digestBytes)

    /// Checks the key in a request.
    ///
    /// - Parameters:
    ///   - text: The text of the key, or nil if the request has none.
    ///   - role: The role that the operation needs.
    package func access(withText text: (some StringProtocol)?, for role: APIKey.Role, now: WallTime)
        -> AccessDecision
    {
        guard let text, let presented = APIKeyText(text) else { return .unknown }
        let key = keys[presented.id]
        let isSame = isEqualInConstantTime(presented.secretHash, key?.secretHash ?? Self.placeholderHash)
        guard isSame, let key else { return .unknown }
        // The caller has the secret, so from here on the answer may be precise.
        return access(with: key, for: role, now: now)
    }

    /// Checks the permissions of a caller who has proved possession of the key.
    package func access(with key: APIKey, for role: APIKey.Role, now: WallTime) -> AccessDecision {
        if key.revokedAt != nil { return .revoked }
        if let expiresAt = key.expiresAt, now.milliseconds >= expiresAt { return .expired }
        guard key.role.includes(role) else { return .forbidden(key) }
        guard let app = apps[key.app] else { return .withoutApp(key) }
        return .granted(key, app)
    }
}
