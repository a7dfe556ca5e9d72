package import JSON

/// A record of `registry` under `start:…` or `update:…`: a token, and what decides whether and when it
/// may be used. All times are milliseconds since 1970 by the server's clock.
package struct TokenRow: Record, Hashable {
    package static let schemaVersion = 1

    package var environment: Environment
    /// As `TokenSeal.seal` stores it, sealed with the row's entry. Empty in the row of a dismissed activity.
    package var token: String
    /// `TokenSeal.hash`, in hexadecimal. Empty in the row of a dismissed activity.
    package var tokenHash: String
    /// The `ActivityAttributes` type; nil on a start row that serves every type.
    package var attributesType: String?
    /// Of an update row: the group that the activity belongs to, where it is known.
    package var group: String?
    /// When the server last heard of this token from the phone, at most a heartbeat's grain ago. Of two
    /// rows of a lane with the same token the one with the newer stands.
    package var registeredAt: Int64
    /// Of an update row: when it is forgotten unless it is reported again.
    package var expiresAt: Int64?
    package var os: String?
    package var frequentPushesEnabled: Bool?
    /// False when the person has switched Live Activities off for the app.
    package var activitiesEnabled: Bool?
    /// The broadcast channel that the activity listens to.
    package var channel: String?
    /// Of an update row: the person has swiped the activity away. The row is no target, it only says that
    /// the group must not start again on this installation; it goes at `expiresAt`.
    package var dismissedAt: Int64?
    /// When the installation moved to another recipient. In the old one's lane the row stays, with
    /// `movedTo`, for a day: it serves starts accepted before. In the new one's lane, starts of
    /// generations opened before this count as done.
    package var movedAt: Int64?
    package var movedTo: Recipient?

    package init(
        environment: Environment, token: String, tokenHash: String, attributesType: String?,
        registeredAt: Int64
    ) {
        self.environment = environment
        self.token = token
        self.tokenHash = tokenHash
        self.attributesType = attributesType
        self.registeredAt = registeredAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("environment", environment.rawValue)
        writer.field("token", token)
        writer.field("tokenHash", tokenHash)
        writer.field("attributesType", attributesType)
        writer.field("group", group)
        writer.field("registeredAt", registeredAt)
        writer.field("expiresAt", expiresAt)
        writer.field("os", os)
        writer.field("frequentPushesEnabled", frequentPushesEnabled)
        writer.field("activitiesEnabled", activitiesEnabled)
        writer.field("channel", channel)
        writer.field("dismissedAt", dismissedAt)
        writer.field("movedAt", movedAt)
        writer.field("movedTo", movedTo)
    }

    package init(from record: JSONObject) {
        self.init(
            environment: record["environment"].environment(), token: record["token"].string(),
            tokenHash: record["tokenHash"].string(),
            attributesType: record["attributesType"].optional?.name(),
            registeredAt: record["registeredAt"].time())
        group = record["group"].optional?.name()
        expiresAt = record["expiresAt"].optional?.time()
        os = record["os"].optional?.name()
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.bool()
        activitiesEnabled = record["activitiesEnabled"].optional?.bool()
        channel = record["channel"].optional?.name()
        dismissedAt = record["dismissedAt"].optional?.time()
        movedAt = record["movedAt"].optional?.time()
        movedTo = record["movedTo"].optional?.recipient()
    }
}
