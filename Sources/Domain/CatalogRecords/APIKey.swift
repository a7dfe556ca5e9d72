internal import Identifiers
package import JSON
internal import RecordFormat

/// An API key in the catalog: its app, its role and the hash of its secret. The key's text was shown once, to
/// its creator. A fast hash is enough, because a secret of 256 random bits cannot be guessed.
package struct APIKey: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The permissions of a key. A key sees only its own app.
    package enum Role: String, Sendable, CaseIterable {
        /// The permissions of an SDK. The key is part of the app's binary, so anyone who has the app can read
        /// it.
        case report
        /// Reads the state of the app.
        case read
        /// Sends pushes. It includes `report` and `read`.
        case send
        /// Changes the app. It includes all roles.
        case admin

        /// Whether a key of this role has all permissions of `other`.
        package func includes(_ other: Role) -> Bool {
            switch self {
            case .report, .read: self == other
            case .send: other != .admin
            case .admin: true
            }
        }
    }

    /// The id, which appears in the key's text and in logs.
    package var id: String
    package var app: String
    package var role: Role
    /// The SHA-256 of the secret.
    package var secretHash: [UInt8]
    /// A name for people.
    package var name: String?
    /// Milliseconds since 1970, as the two fields below.
    package var createdAt: Int64
    package var expiresAt: Int64?
    package var revokedAt: Int64?

    package init(id: String, app: String, role: Role, secretHash: [UInt8], createdAt: Int64) {
        self.id = id
        self.app = app
        self.role = role
        self.secretHash = secretHash
        self.createdAt = createdAt
    }

    /// The key of the record in the topic `catalog`, for example `key/shop/4fTz0aQ81kLm`.
    package var key: [UInt8] { RecordKey.join("key", app, id) }

    package func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("app", app)
        writer.field("role", role.rawValue)
        writer.field("secretSha256", String(decoding: Hex.encode(secretHash), as: UTF8.self))
        writer.field("name", name)
        writer.field("createdAt", createdAt)
        writer.field("expiresAt", expiresAt)
        writer.field("revokedAt", revokedAt)
    }

    package init(from record: JSONObject) {
        self.init(
            id: record["id"].name(), app: record["app"].appID(),
            role: record["role"].choice(of: Role.self) ?? .report,
            secretHash: record["secretSha256"].sha256Digest(),
            createdAt: record["createdAt"].timeMilliseconds())
        name = record["name"].optional?.name()
        expiresAt = record["expiresAt"].optional?.timeMilliseconds()
        revokedAt = record["revokedAt"].optional?.timeMilliseconds()
    }
}

extension JSONValue {
    /// Reads the 32 bytes of a SHA-256 from hexadecimal digits.
    fileprivate func sha256Digest() -> [UInt8] {
        let bytes = Hex.decode(Array(string().utf8)) ?? []
        if kind == .string, bytes.count != Self.sha256Bytes { report("must be 64 hexadecimal digits") }
        return bytes
    }

    private static let sha256Bytes = 32
}
