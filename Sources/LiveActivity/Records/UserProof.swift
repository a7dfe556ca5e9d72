internal import JSON

/// What proves to a gateway who a user is: secrets that the app's own server shares with Flotilla. The
/// server gives a phone the HMAC-SHA256 of its user's id, and the phone's reports carry it.
///
/// The gateway must know the secrets, so that a hash will not do. They stand here sealed with the
/// installation's sealing keys; without such keys there can be none.
package struct UserProof: Sendable, Hashable {
    package struct Secret: Sendable, Hashable {
        /// Milliseconds since 1970.
        package var createdAt: Int64
        /// `TokenSeal.seal(secret:)`.
        package var sealed: String

        package init(createdAt: Int64, sealed: String) {
            self.createdAt = createdAt
            self.sealed = sealed
        }
    }

    /// The newest and the one before it, while servers change from one to the other.
    package static let secretsMax = 2
    package static let secretBytes = 32
    /// What they are sealed as.
    package static let secretName = "user-proof"

    /// Whether a phone's report may name a user without a proof.
    package var isRequired: Bool
    /// Oldest first.
    package var secrets: [Secret]

    package init(isRequired: Bool, secrets: [Secret]) {
        self.isRequired = isRequired
        self.secrets = secrets
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("required", isRequired)
        writer.name("secrets")
        writer.beginArray()
        for secret in secrets {
            writer.beginObject()
            writer.field("createdAt", secret.createdAt)
            writer.field("sealed", secret.sealed)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    init(from object: JSONObject) {
        isRequired = object["required"].bool()
        secrets = []
        var elements = object["secrets"].array(countMax: Self.secretsMax)
        while let element = elements.next() {
            let secret = element.object()
            secrets.append(
                Secret(createdAt: secret["createdAt"].time(), sealed: secret["sealed"].string()))
        }
    }
}
