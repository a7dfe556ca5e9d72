internal import Cryptography
package import LiveActivity
package import Telemetry

/// Whether somebody may come in.
package enum Access: Sendable, Equatable {
    case granted(APIKey, App)
    /// Never was a key, is nobody's, or has another secret: who asks is not told which.
    case unknown
    case revoked
    case expired
    /// The key is good and may not do this.
    case forbidden(APIKey)
    /// The key is good, and its app has been deleted.
    case withoutApp(APIKey)
}

extension KnownCatalog {
    /// Compared with when there is no such key, so that this takes as long.
    private static let decoy = [UInt8](repeating: 0, count: SHA256.digestBytes)

    /// - Parameter text: what came as the key; nil when nothing came.
    package func access(_ text: (some StringProtocol)?, for role: APIKey.Role, now: WallTime) -> Access {
        guard let text, let presented = KeyText(text) else { return .unknown }
        let key = keys[presented.id]
        let isSame = equalInConstantTime(presented.secretHash, key?.secretHash ?? Self.decoy)
        guard isSame, let key else { return .unknown }
        // From here on whoever asks has the secret, and may know more.
        return access(with: key, for: role, now: now)
    }

    /// What who has shown that the key is theirs may do.
    package func access(with key: APIKey, for role: APIKey.Role, now: WallTime) -> Access {
        if key.revokedAt != nil { return .revoked }
        if let expiresAt = key.expiresAt, now.milliseconds >= expiresAt { return .expired }
        guard key.role.includes(role) else { return .forbidden(key) }
        guard let app = apps[key.app] else { return .withoutApp(key) }
        return .granted(key, app)
    }
}
