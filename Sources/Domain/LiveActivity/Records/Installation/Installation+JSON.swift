package import JSON

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
        writer.objects("starts", unlessEmpty: starts) { start, writer in start.write(to: &writer) }
        writer.objects("activities", unlessEmpty: activities) { activity, writer in
            activity.write(to: &writer)
        }
        writer.field("running", running)
        writer.objects("refused", unlessEmpty: refused) { refused, writer in
            writer.field("tokenHash", refused.hash)
            writer.field("at", refused.at)
        }
        writer.objects("moved", unlessEmpty: moved) { moved, writer in
            writer.field("from", moved.recipient)
            writer.field("since", moved.since)
            writer.field("at", moved.at)
            writer.field("until", moved.until)
        }
        writer.field("movedAt", movedAt)
        writer.objects("taps", unlessEmpty: taps) { tap, writer in
            writer.field("at", tap.at)
            writer.field("reportId", tap.id)
        }
        writer.field("tappedAt", tappedAt)
        writer.field("erasedAt", erasedAt)
    }

    package init(from record: JSONObject) {
        app = record["app"].appID()
        subject = record["subject"].recipient()
        facts = [Facts(from: record)]
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader
    ) throws(RecordError) -> Installation {
        try unsafe read(bytes, with: reader) { Installation(from: $0) }
    }
}

extension Installation.Facts {
    fileprivate init(from record: JSONObject) {
        environment = record["environment"].optional?.said()
        user = record["recipient"].optional?.said()
        os = record["os"].optional?.said()
        appBuild = record["appBuild"].optional?.said()
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.said()
        activitiesEnabled = record["activitiesEnabled"].optional?.said()
        tags = record["tags"].optional?.said()
        attributes = record["attributes"].optional?.said()
        locale = record["locale"].optional?.said()
        timeZone = record["timeZone"].optional?.said()
        starts = record["starts"].objects(countMax: Installation.startsMax, Installation.Start.init(from:))
        activities = record["activities"].objects(
            countMax: Installation.activitiesMax, Installation.Activity.init(from:))
        running = record["running"].optional?.said()
        refused = record["refused"].objects(countMax: Installation.refusedMax) {
            Installation.RefusedToken(hash: $0["tokenHash"].name(), at: $0["at"].time())
        }
        moved = record["moved"].objects(countMax: Installation.movedMax) {
            Installation.Moved(
                recipient: $0["from"].recipient(), since: $0["since"].optional?.time(), at: $0["at"].time(),
                until: $0["until"].time())
        }
        movedAt = record["movedAt"].optional?.time()
        taps = record["taps"].objects(countMax: Installation.tapsMax) {
            Installation.Tap(at: Int64($0["at"].int()), id: $0["reportId"].optional?.name())
        }
        tappedAt = record["tappedAt"].optional.map { Int64($0.int()) }
        erasedAt = record["erasedAt"].optional?.reportTime()
    }
}

extension Installation.Token {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("tokenHash", hash)
        writer.field("token", sealed)
        writer.field("environment", environment.rawValue)
        writer.field("at", at)
    }

    /// Returns nil if the object has no token.
    fileprivate init?(from object: JSONObject) {
        guard let hash = object["tokenHash"].optional?.name() else { return nil }
        self.init(
            hash: hash, sealed: object["token"].optional?.string(),
            environment: object["environment"].environment(), at: object["at"].reportTime())
    }
}

extension Installation.Start {
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
        writer.field("heardAt", heardAt)
        writer.field("expired", isExpired ? true : nil)
        let usual = ActivityType.updateTokenMillisecondsDefault
        writer.field("tokenTtl", tokenMilliseconds == usual ? nil : tokenMilliseconds)
        writer.field("endedAt", closing?.endedAt)
        writer.field("dismissedAt", closing?.dismissedAt)
    }

    fileprivate init(from object: JSONObject) {
        id = object["id"].name()
        type = object["type"].optional?.said()
        group = object["group"].optional?.said()
        channel = object["channel"].optional?.said()
        token = Installation.Token(from: object)
        state = object["state"].optional?.said()
        heardAt = object["heardAt"].optional?.reportTime()
        isExpired = object["expired"].optional?.bool() ?? false
        tokenMilliseconds = object["tokenTtl"].optional?.time() ?? ActivityType.updateTokenMillisecondsDefault
        let ended = object["endedAt"].optional?.reportTime()
        let dismissed = object["dismissedAt"].optional?.reportTime()
        closing =
            ended == nil && dismissed == nil
            ? nil : Installation.Closing(endedAt: ended, dismissedAt: dismissed)
    }
}
