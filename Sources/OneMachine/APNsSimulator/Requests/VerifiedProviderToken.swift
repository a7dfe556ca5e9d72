internal import Identifiers

/// A provider token with a verified signature.
final class VerifiedProviderToken {
    /// The token as received.
    let token: [UInt8]
    let key: ProviderKey
    /// Seconds since 1970.
    let issuedAt: Int64
    let warning: ProviderTokenWarning?
    // The key's environments. They are stored as Booleans, because a lookup in a set for each push is slower.
    private let acceptsProduction: Bool
    private let acceptsSandbox: Bool

    init(token: [UInt8], key: ProviderKey, issuedAt: Int64, warning: ProviderTokenWarning? = nil) {
        self.token = token
        self.key = key
        self.issuedAt = issuedAt
        self.warning = warning
        acceptsProduction = key.environments.contains(.production)
        acceptsSandbox = key.environments.contains(.sandbox)
    }

    func accepts(_ environment: Environment) -> Bool {
        switch environment {
        case .production: acceptsProduction
        case .sandbox: acceptsSandbox
        }
    }
}
