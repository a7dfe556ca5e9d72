internal import Identifiers
package import JSON
package import RecordFormat
internal import TokenSealing

extension Report {
    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writeFields(to: &writer)
        writer.field("sequence", bodyPosition)
    }

    /// Encodes the report as a phone sends it. The app follows from the API key of the request.
    package func encodedWithoutApp() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("v")
        writer.value(Self.schemaVersion)
        writeFields(to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private func writeFields(to writer: inout JSONWriter) {
        writer.field("environment", environment?.rawValue)
        writer.field("installationId", installation)
        writer.field("userId", user)
        if isLoggedOut, user == nil {
            writer.name("userId")
            writer.null()
        }
        writer.field("kind", kind.rawValue)
        writer.field("attributesType", attributesType)
        writer.field("activityId", activity)
        writer.field("groupId", group)
        writer.field("token", token)
        writer.field("state", state?.rawValue)
        writer.field("channelId", channel)
        writer.field("running", runningActivities)
        writer.field("os", os)
        writer.field("appBuild", appBuild)
        writer.field("frequentPushesEnabled", frequentPushesEnabled)
        writer.field("activitiesEnabled", activitiesEnabled)
        writer.field("tags", tags)
        writer.field("attributes", attributes)
        writer.field("locale", locale)
        writer.field("timeZone", timeZone)
        writer.field("eventTime", eventTime)
        writer.field("reportId", id)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
        writer.field("tokenHash", refusal?.tokenHash)
        writer.field("entry", refusal?.entry)
        writer.field("reason", refusal?.reason)
        writer.field("invalidatedAt", refusal?.invalidatedAt)
        writer.field("dispatchedAt", refusal?.dispatchedAt)
    }

    package init(from record: JSONObject) { self.init(app: record["app"].appID(), from: record) }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader
    ) throws(RecordDecodingError) -> Report {
        try unsafe read(bytes, with: reader) { Report(from: $0) }
    }

    /// Creates a report whose app follows from the API key of the request. The body must not override it.
    package init(app: String, from record: JSONObject) {
        self.app = app
        // Reading fields in the order in which they are written is fastest.
        let (environment, installation) = (record["environment"], record["installationId"])
        let user = record["userId"]
        kind = record["kind"].reportKind() ?? .heartbeat
        if kind == .profile || kind == .erase, installation.optional == nil, user.optional != nil {
            _ = environment.optional?.environment()
            self.environment = nil
            self.installation = nil
            self.user = user.name()
            isLoggedOut = false
        } else {
            self.environment = environment.environment()
            self.installation = installation.name()
            self.user = user.optional?.name()
            isLoggedOut = user.isNull
        }
        let type = record["attributesType"]
        attributesType = type.optional?.name()
        let activity = record["activityId"]
        self.activity = activity.optional?.name()
        group = record["groupId"].optional?.name()
        let token = record["token"]
        self.token = token.optional?.pushToken()
        let state = record["state"]
        self.state = state.optional?.reportState()
        channel = record["channelId"].optional?.name()
        let running = record["running"]
        self.runningActivities = running.optional?.names(countMax: Report.runningActivitiesMax)
        os = record["os"].optional?.name()
        appBuild = record["appBuild"].optional?.name()
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.bool()
        activitiesEnabled = record["activitiesEnabled"].optional?.bool()
        tags = record["tags"].optional?.names(countMax: Report.tagsMax)
        attributes = record["attributes"].optional?.profileAttributes()
        locale = record["locale"].optional?.name()
        timeZone = record["timeZone"].optional?.name()
        eventTime = record["eventTime"].optional?.timeMilliseconds()
        id = record["reportId"].optional?.name()
        scheduleID = record["scheduleId"].optional?.name()
        scheduleName = record["scheduleName"].optional?.name()
        refusal = kind == .deadToken ? TokenRefusal(from: record) : nil
        bodyPosition = record["sequence"].optional?.int(in: 0...Report.bodyPositionEnd - 1)

        // Fields that the kind requires.
        switch kind {
        case .startToken: token.requireString()
        case .updateToken:
            token.requireString()
            activity.requireString()
        case .state:
            state.requireString()
            activity.requireString()
        case .unregister: type.requireString()
        case .reconcile: _ = running.array(countMax: .max)
        case .tap: activity.requireString()
        case .heartbeat, .profile, .erase, .deadToken: break
        }
    }
}

extension Report.TokenRefusal {
    fileprivate init(from record: JSONObject) {
        self.init(
            tokenHash: record["tokenHash"].name(), entry: record["entry"].string(),
            reason: record["reason"].name(),
            invalidatedAt: record["invalidatedAt"].optional?.timeMilliseconds(),
            dispatchedAt: record["dispatchedAt"].timeMilliseconds())
        if record["entry"].isString, RegistryKey.Entry(text: entry) == nil {
            record["entry"].report("must be an entry of the registry: start:…, update:… or profile")
        }
    }
}

extension JSONValue {
    /// Compares bytes for the common kinds. An unknown kind is reported with the names of all kinds.
    fileprivate func reportKind() -> Report.Kind? {
        if isText("startToken") { return .startToken }
        if isText("updateToken") { return .updateToken }
        if isText("state") { return .state }
        if isText("profile") { return .profile }
        if isText("heartbeat") { return .heartbeat }
        return choice(of: Report.Kind.self)
    }

    /// Compares bytes for the common states.
    func reportState() -> Report.ActivityState? {
        if isText("active") { return .active }
        if isText("ended") { return .ended }
        if isText("dismissed") { return .dismissed }
        return choice(of: Report.ActivityState.self)
    }

    fileprivate func pushToken() -> String {
        guard let digits = unsafe text else { return "" }
        // Records of the topic may hold a sealed token. The gateway accepts no sealed token from clients.
        if unsafe !PushToken.isValid(hex: digits), unsafe !TokenSeal.isSealed(digits) {
            report(PushToken.formatProblem)
        }
        return unsafe string(from: digits)
    }

    /// Checks attributes that the caller reads in place, with the same reports as `profileAttributes`.
    package func checkProfileAttributes() { _ = profileAttributes() }

    func profileAttributes() -> RawJSON {
        if kind != .object { _ = object() }
        let value = rawJSON()
        if value.count > Report.attributesBytesMax {
            report("must have at most \(Report.attributesBytesMax) bytes", as: .outOfRange)
        }
        if kind == .object, value.depth > Report.attributesDepthMax {
            report("must be nested at most \(Report.attributesDepthMax) levels deep", as: .outOfRange)
        }
        return value
    }
}
