internal import CatalogRecords
internal import Identifiers
package import JSON
package import RecordFormat

// Stored records fix the names of the JSON fields, so some differ from the names of the properties.

extension Installation {
    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("subject", subject)
        writer.field("environment", environment)
        writer.field("recipient", user)
        writer.field("os", os)
        writer.field("appBuild", appBuild)
        writer.field("frequentPushesEnabled", frequentPushesEnabled)
        writer.field("activitiesEnabled", activitiesEnabled)
        writer.field("tags", tags)
        writer.field("attributes", attributes)
        writer.field("locale", locale)
        writer.field("timeZone", timeZone)
        writer.objects("starts", unlessEmpty: startTokens) { start, writer in start.write(to: &writer) }
        writer.objects("activities", unlessEmpty: activities) { activity, writer in
            activity.write(to: &writer)
        }
        writer.field("running", runningActivities)
        writer.objects("refused", unlessEmpty: refusedTokens) { refused, writer in
            writer.field("tokenHash", refused.hash)
            writer.field("at", refused.at)
        }
        writer.objects("moved", unlessEmpty: formerRecipients) { former, writer in
            writer.field("from", former.recipient)
            writer.field("since", former.joinedAt)
            writer.field("at", former.at)
            writer.field("until", former.rowsKeptUntil)
        }
        writer.field("movedAt", movedAt)
        writer.objects("taps", unlessEmpty: taps) { tap, writer in
            writer.field("at", tap.at)
            writer.field("reportId", tap.id)
        }
        writer.field("tappedAt", tapsPrunedUpTo)
        writer.field("erasedAt", erasedUpTo)
    }

    package init(from record: JSONObject) {
        app = record["app"].appID()
        subject = record["subject"].recipient()
        fields = [Fields(from: record)]
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader
    ) throws(RecordDecodingError) -> Installation {
        try unsafe read(bytes, with: reader) { Installation(from: $0) }
    }
}

extension Installation.Fields {
    fileprivate init(from record: JSONObject) {
        environment = record["environment"].optional?.timestamped()
        user = record["recipient"].optional?.timestamped()
        os = record["os"].optional?.timestamped()
        appBuild = record["appBuild"].optional?.timestamped()
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.timestamped()
        activitiesEnabled = record["activitiesEnabled"].optional?.timestamped()
        tags = record["tags"].optional?.timestamped()
        attributes = record["attributes"].optional?.timestamped()
        locale = record["locale"].optional?.timestamped()
        timeZone = record["timeZone"].optional?.timestamped()
        startTokens = record["starts"].objects(
            countMax: Installation.startTokensMax, read: Installation.StartToken.init(from:))
        activities = record["activities"].objects(
            countMax: Installation.activitiesMax, read: Installation.Activity.init(from:))
        runningActivities = record["running"].optional?.timestamped()
        refusedTokens = record["refused"].objects(countMax: Installation.refusedTokensMax) {
            Installation.RefusedToken(hash: $0["tokenHash"].name(), at: $0["at"].timeMilliseconds())
        }
        formerRecipients = record["moved"].objects(countMax: Installation.formerRecipientsMax) {
            Installation.FormerRecipient(
                recipient: $0["from"].recipient(), joinedAt: $0["since"].optional?.timeMilliseconds(),
                at: $0["at"].timeMilliseconds(),
                rowsKeptUntil: $0["until"].timeMilliseconds())
        }
        movedAt = record["movedAt"].optional?.timeMilliseconds()
        taps = record["taps"].objects(countMax: Installation.tapsMax) {
            Installation.Tap(at: Int64($0["at"].int()), id: $0["reportId"].optional?.name())
        }
        tapsPrunedUpTo = record["tappedAt"].optional.map { Int64($0.int()) }
        erasedUpTo = record["erasedAt"].optional?.reportTime()
    }
}

extension Installation.Token {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("tokenHash", hash)
        writer.field("token", sealed)
        writer.field("environment", environment.rawValue)
        writer.field("at", at)
        writer.field("unproven", isUnproven ? true : nil)
        writer.field("takenOver", isTakenOver ? true : nil)
    }

    /// Returns nil if the object has no token.
    fileprivate init?(from object: JSONObject) {
        guard let hash = object["tokenHash"].optional?.name() else { return nil }
        self.init(
            hash: hash, sealed: object["token"].optional?.string(),
            environment: object["environment"].environment(), at: object["at"].reportTime(),
            isUnproven: object["unproven"].optional?.bool() ?? false)
        isTakenOver = object["takenOver"].optional?.bool() ?? false
    }
}

extension Installation.StartToken {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("type", type)
        token?.write(to: &writer)
        writer.field("unregisteredAt", unregisteredAt)
    }

    fileprivate init(from object: JSONObject) {
        self.init(
            type: object["type"].optional?.name(), token: Installation.Token(from: object),
            unregisteredAt: object["unregisteredAt"].optional?.reportTime())
    }
}

extension Installation.Activity {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("type", type)
        writer.field("group", group)
        writer.field("channel", channel)
        token?.write(to: &writer)
        writer.field("state", state)
        writer.field("heardAt", lastSeenAt)
        writer.field("expired", isExpired ? true : nil)
        let hasDefaultLifetime = tokenLifetimeMilliseconds == ActivityType.updateTokenMillisecondsDefault
        writer.field("tokenTtl", hasDefaultLifetime ? nil : tokenLifetimeMilliseconds)
        writer.field("endedAt", closing?.endedAt)
        writer.field("dismissedAt", closing?.dismissedAt)
    }

    fileprivate init(from object: JSONObject) {
        id = object["id"].name()
        type = object["type"].optional?.timestamped()
        group = object["group"].optional?.timestamped()
        channel = object["channel"].optional?.timestamped()
        token = Installation.Token(from: object)
        state = object["state"].optional?.timestamped()
        lastSeenAt = object["heardAt"].optional?.reportTime()
        isExpired = object["expired"].optional?.bool() ?? false
        tokenLifetimeMilliseconds =
            object["tokenTtl"].optional?.timeMilliseconds() ?? ActivityType.updateTokenMillisecondsDefault
        let endedAt = object["endedAt"].optional?.reportTime()
        let dismissedAt = object["dismissedAt"].optional?.reportTime()
        closing =
            endedAt == nil && dismissedAt == nil
            ? nil : Installation.Closing(endedAt: endedAt, dismissedAt: dismissedAt)
    }
}
