package import CatalogRecords
package import Cryptography
package import TokenSealing

/// The secret of a webhook endpoint. Its text has the form of the Standard Webhooks specification: `whsec_` and the key
/// in Base64. The text is shown once, when the secret is made. The catalog holds the key, sealed.
package struct WebhookSecret: Sendable {
    /// The specification allows 24 to 64 bytes.
    package static let keyBytes = 32
    private static let prefix = "whsec_"

    /// The key of the signatures.
    package let key: [UInt8]

    package init(key: [UInt8] = Random.bytes(count: WebhookSecret.keyBytes)) { self.key = key }

    package var text: String { Self.prefix + Base64URL.standardText(of: key) }

    /// Returns the sealed secret for the catalog, or nil without sealing keys.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package func sealed(
        by seal: TokenSeal, app: String, endpoint: String, now: Int64
    ) -> WebhookEndpoint.Secret? {
        seal.seal(secret: key, app: app, name: WebhookEndpoint.secretName(of: endpoint)).map {
            WebhookEndpoint.Secret(createdAt: now, sealed: $0)
        }
    }

    /// Opens a sealed secret of an endpoint.
    package static func open(
        _ secret: WebhookEndpoint.Secret, of endpoint: WebhookEndpoint, with seal: TokenSeal
    ) throws(TokenSeal.Failure) -> SecretBytes {
        try seal.open(
            secret: secret.sealed, app: endpoint.app, name: WebhookEndpoint.secretName(of: endpoint.name))
    }
}
