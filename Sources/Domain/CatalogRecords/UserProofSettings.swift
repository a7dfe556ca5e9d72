internal import JSON

/// The settings and secrets that prove a user's identity to the gateway. The app's own server shares the
/// secrets with Flotilla. It gives a phone a proof, which the phone's reports carry. `UserProof` has the forms of a proof.
///
/// The gateway needs the secrets themselves, so a hash is not enough. They are sealed with the installation's
/// sealing keys. Without sealing keys an app cannot have such secrets.
package struct UserProofSettings: Sendable, Hashable {
    /// The proof that a phone's report must carry if it names a user.
    package enum Requirement: String, Sendable, CaseIterable {
        /// None. A proof that is present must be right.
        case optional = "no"
        /// A proof of any form.
        case any = "yes"
        /// A proof with an expiry and an installation.
        case expiring
    }

    /// One secret, sealed.
    package struct Secret: Sendable, Hashable {
        /// Milliseconds since 1970.
        package var createdAt: Int64
        /// The result of `TokenSeal.seal(secret:app:name:)`.
        package var sealed: String

        package init(createdAt: Int64, sealed: String) {
            self.createdAt = createdAt
            self.sealed = sealed
        }
    }

    /// The maximum number of secrets: the newest one and its predecessor, so that servers can change from one to
    /// the other.
    package static let secretsMax = 2
    /// The length of a secret in bytes.
    package static let secretBytes = 32
    /// The name under which `TokenSeal` seals the secrets.
    package static let secretName = "user-proof"

    package var requirement: Requirement
    /// The secrets, oldest first.
    package var secrets: [Secret]

    package init(requirement: Requirement, secrets: [Secret]) {
        self.requirement = requirement
        self.secrets = secrets
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        // Earlier versions know only this field, and then accept a proof of any form that they know.
        writer.field("required", requirement != .optional)
        writer.field("expiring", requirement == .expiring ? true : nil)
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

    /// Reads the settings and reports more than `secretsMax` secrets.
    init(from object: JSONObject) {
        let isRequired = object["required"].bool()
        let isExpiring = object["expiring"].optional?.bool() ?? false
        requirement = if !isRequired { .optional } else if isExpiring { .expiring } else { .any }
        secrets = []
        var elements = object["secrets"].array(countMax: Self.secretsMax)
        while let element = elements.next() {
            let secret = element.object()
            secrets.append(
                Secret(createdAt: secret["createdAt"].timeMilliseconds(), sealed: secret["sealed"].string()))
        }
    }
}
