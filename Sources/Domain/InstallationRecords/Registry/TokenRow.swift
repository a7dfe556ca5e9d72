package import Identifiers
package import JSON
package import RecordFormat

/// A record of `registry` under `start:…` or `update:…`: a token, and the facts that decide whether and when
/// it may be used. All times are milliseconds since 1970 by the server's clock.
package struct TokenRow: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package var environment: Environment
    /// The token as `TokenSeal.seal` stores it, sealed with the row's entry. Nil in the row of a dismissed
    /// activity.
    package var token: Maybe<String>
    /// `TokenSeal.hash`, in hexadecimal. Nil in the row of a dismissed activity.
    package var tokenHash: Maybe<String>
    /// The `ActivityAttributes` type, or nil on a start row that serves every type.
    package var attributesType: Maybe<String>
    /// For a start row that serves every type: the types that the installation has unregistered.
    package var unregisteredTypes: Maybe<[String]>
    /// For an update row: the group of the activity, if known.
    package var group: Maybe<String>
    /// The time of the newest report of this token. It may lag, because ingest writes only some of the
    /// heartbeats. If two rows of a lane hold the same token, the row with the newer time wins.
    package var registeredAt: Int64
    /// For an update row: the time at which it expires, unless the token is reported again.
    package var expiresAt: Maybe<Int64>
    package var os: Maybe<String>
    package var frequentPushesEnabled: Maybe<Bool>
    /// False if the person has switched Live Activities off for the app.
    package var activitiesEnabled: Maybe<Bool>
    /// The broadcast channel that the activity listens to.
    package var channel: Maybe<String>
    /// For an update row: the time at which the person swiped the activity away. The row is not a target. It
    /// only prevents another start of the group on this installation, until `expiresAt`.
    package var dismissedAt: Maybe<Int64>
    /// The time at which the installation moved to another recipient. In the old recipient's lane the row
    /// stays for a day, with `movedTo`, for starts that were accepted before the move. In the new recipient's
    /// lane, starts of generations that opened before the move count as done.
    package var movedAt: Maybe<Int64>
    /// In the old recipient's lane: the new recipient.
    package var movedTo: Maybe<Recipient>
    /// In the old recipient's lane: the time at which the installation came to that recipient. Starts that
    /// were accepted earlier belong to the recipient before.
    package var arrivedAt: Maybe<Int64>
    /// Whether APNs has not accepted the token yet, as far as is known. Anyone with a report key can invent such
    /// a token. A row without the field is older than the field, and its token counts as accepted.
    package var isUnproven: Bool

    /// Sets all fields in one step, because a row that is changed field by field is copied each time.
    package init(
        environment: Environment, token: String?, tokenHash: String?, attributesType: String?,
        unregisteredTypes: [String]? = nil, group: String? = nil, registeredAt: Int64,
        expiresAt: Int64? = nil, os: String? = nil,
        frequentPushesEnabled: Bool? = nil, activitiesEnabled: Bool? = nil, channel: String? = nil,
        dismissedAt: Int64? = nil, movedAt: Int64? = nil, movedTo: Recipient? = nil, arrivedAt: Int64? = nil,
        isUnproven: Bool = false
    ) {
        self.environment = environment
        self.token = token
        self.tokenHash = tokenHash
        self.attributesType = attributesType
        self.unregisteredTypes = unregisteredTypes
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
        self.arrivedAt = arrivedAt
        self.isUnproven = isUnproven
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("environment", environment.rawValue)
        writer.textOrEmpty("token", text: token)
        writer.textOrEmpty("tokenHash", text: tokenHash)
        writer.field("attributesType", attributesType)
        writer.field("exceptTypes", unregisteredTypes)
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
        writer.field("movedInAt", arrivedAt)
        writer.field("unproven", isUnproven ? true : nil)
    }

    package init(from record: JSONObject) {
        self.init(
            environment: record["environment"].environment(), token: record["token"].textUnlessEmpty(),
            tokenHash: record["tokenHash"].textUnlessEmpty(),
            attributesType: record["attributesType"].optional?.name(),
            unregisteredTypes: record["exceptTypes"].optional?.names(countMax: Installation.startTokensMax),
            group: record["group"].optional?.name(), registeredAt: record["registeredAt"].timeMilliseconds(),
            expiresAt: record["expiresAt"].optional?.timeMilliseconds(), os: record["os"].optional?.name(),
            frequentPushesEnabled: record["frequentPushesEnabled"].optional?.bool(),
            activitiesEnabled: record["activitiesEnabled"].optional?.bool(),
            channel: record["channel"].optional?.name(),
            dismissedAt: record["dismissedAt"].optional?.timeMilliseconds(),
            movedAt: record["movedAt"].optional?.timeMilliseconds(),
            movedTo: record["movedTo"].optional?.recipient(),
            arrivedAt: record["movedInAt"].optional?.timeMilliseconds(),
            isUnproven: record["unproven"].optional?.bool() ?? false)
    }
}

extension JSONWriter {
    /// Writes an empty text for nil.
    fileprivate mutating func textOrEmpty(_ name: StaticString, text: String?) {
        if let text { field(name, text) } else { field(name, "") }
    }
}

extension JSONValue {
    /// Reads an empty text as nil.
    fileprivate func textUnlessEmpty() -> String? {
        let text = string()
        return text.isEmpty ? nil : text
    }
}
