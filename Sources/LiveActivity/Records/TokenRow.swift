package import JSON

/// A record of `registry` under `start:…` or `update:…`: a token, and what decides whether and when it
/// may be used. All times are milliseconds since 1970 by the server's clock.
package struct TokenRow: Record, Hashable {
    package static let schemaVersion = 1

    package var environment: Environment
    /// As `TokenSeal.seal` stores it, sealed with the row's entry. Nil in the row of a dismissed activity.
    package var token: Maybe<String>
    /// `TokenSeal.hash`, in hexadecimal. Nil in the row of a dismissed activity.
    package var tokenHash: Maybe<String>
    /// The `ActivityAttributes` type; nil on a start row that serves every type.
    package var attributesType: Maybe<String>
    /// Of a start row that serves every type: the types that the installation has unregistered.
    package var exceptTypes: Maybe<[String]>
    /// Of an update row: the group that the activity belongs to, where it is known.
    package var group: Maybe<String>
    /// When the server last heard of this token from the phone, at most a heartbeat's grain ago. Of two
    /// rows of a lane with the same token the one with the newer stands.
    package var registeredAt: Int64
    /// Of an update row: when it is forgotten unless it is reported again.
    package var expiresAt: Maybe<Int64>
    package var os: Maybe<String>
    package var frequentPushesEnabled: Maybe<Bool>
    /// False when the person has switched Live Activities off for the app.
    package var activitiesEnabled: Maybe<Bool>
    /// The broadcast channel that the activity listens to.
    package var channel: Maybe<String>
    /// Of an update row: the person has swiped the activity away. The row is no target, it only says that
    /// the group must not start again on this installation; it goes at `expiresAt`.
    package var dismissedAt: Maybe<Int64>
    /// When the installation moved to another recipient. In the old one's lane the row stays, with
    /// `movedTo`, for a day: it serves starts accepted before. In the new one's lane, starts of
    /// generations opened before this count as done.
    package var movedAt: Maybe<Int64>
    package var movedTo: Maybe<Recipient>
    /// In the old one's lane: when the installation had come there. Starts accepted before are yet another's.
    package var movedInAt: Maybe<Int64>

    /// All of it in one step: a row that is changed field by field is copied on its way.
    package init(
        environment: Environment, token: String?, tokenHash: String?, attributesType: String?,
        exceptTypes: [String]? = nil, group: String? = nil, registeredAt: Int64, expiresAt: Int64? = nil,
        os: String? = nil,
        frequentPushesEnabled: Bool? = nil, activitiesEnabled: Bool? = nil, channel: String? = nil,
        dismissedAt: Int64? = nil, movedAt: Int64? = nil, movedTo: Recipient? = nil, movedInAt: Int64? = nil
    ) {
        self.environment = environment
        self.token = token
        self.tokenHash = tokenHash
        self.attributesType = attributesType
        self.exceptTypes = exceptTypes
        self.group = group
        self.registeredAt = registeredAt
        self.expiresAt = expiresAt
        self.os = os
        self.frequentPushesEnabled = frequentPushesEnabled
        self.activitiesEnabled = activitiesEnabled
        self.channel = channel
        self.dismissedAt = dismissedAt
        self.movedAt = movedAt
        self.movedTo = movedTo
        self.movedInAt = movedInAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("environment", environment.rawValue)
        writer.text("token", token)
        writer.text("tokenHash", tokenHash)
        writer.field("attributesType", attributesType)
        writer.field("exceptTypes", exceptTypes)
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
        writer.field("movedInAt", movedInAt)
    }

    package init(from record: JSONObject) {
        self.init(
            environment: record["environment"].environment(), token: record["token"].textUnlessEmpty(),
            tokenHash: record["tokenHash"].textUnlessEmpty(),
            attributesType: record["attributesType"].optional?.name(),
            exceptTypes: record["exceptTypes"].optional?.names(countMax: Installation.startsMax),
            group: record["group"].optional?.name(), registeredAt: record["registeredAt"].time(),
            expiresAt: record["expiresAt"].optional?.time(), os: record["os"].optional?.name(),
            frequentPushesEnabled: record["frequentPushesEnabled"].optional?.bool(),
            activitiesEnabled: record["activitiesEnabled"].optional?.bool(),
            channel: record["channel"].optional?.name(), dismissedAt: record["dismissedAt"].optional?.time(),
            movedAt: record["movedAt"].optional?.time(), movedTo: record["movedTo"].optional?.recipient(),
            movedInAt: record["movedInAt"].optional?.time())
    }
}

extension JSONWriter {
    /// Empty where there is none.
    fileprivate mutating func text(_ name: StaticString, _ text: String?) {
        if let text { field(name, text) } else { field(name, "") }
    }
}

extension JSONValue {
    fileprivate func textUnlessEmpty() -> String? {
        let text = string()
        return text.isEmpty ? nil : text
    }
}
