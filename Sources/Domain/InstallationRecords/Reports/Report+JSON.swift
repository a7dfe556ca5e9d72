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
        writer.field("sendId", sendID)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
        writer.field("tokenHash", refusal?.tokenHash ?? proof?.tokenHash)
        writer.field("entry", refusal?.entry ?? proof?.entry.text)
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
        let (environmentField, installationField) = (record["environment"], record["installationId"])
        let userField = record["userId"]
        kind = record["kind"].reportKind() ?? .heartbeat
        let isAboutUser =
            (kind == .profile || kind == .erase) && installationField.optional == nil
            && userField.optional != nil
        if isAboutUser {
            // The environment has no meaning here, but a wrong one is reported.
            _ = environmentField.optional?.environment()
            environment = nil
            installation = nil
            user = userField.name()
            isLoggedOut = false
        } else {
            environment = environmentField.environment()
            installation = installationField.name()
            user = userField.optional?.name()
            isLoggedOut = userField.isNull
        }
        let typeField = record["attributesType"]
        attributesType = typeField.optional?.name()
        let activityField = record["activityId"]
        activity = activityField.optional?.name()
        group = record["groupId"].optional?.name()
        let tokenField = record["token"]
        token = tokenField.optional?.pushToken()
        let stateField = record["state"]
        state = stateField.optional?.reportState()
        channel = record["channelId"].optional?.name()
        let runningField = record["running"]
        runningActivities = runningField.optional?.names(countMax: Report.runningActivitiesMax)
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
        sendID = record["sendId"].optional?.name()
        scheduleID = record["scheduleId"].optional?.name()
        scheduleName = record["scheduleName"].optional?.name()
        refusal = kind == .deadToken ? TokenRefusal(from: record) : nil
        proof = kind.namesTokenByHash ? TokenProof(from: record) : nil
        bodyPosition = record["sequence"].optional?.int(in: 0...Report.bodyPositionEnd - 1)

        // Reports the fields that the kind requires and that are missing.
        switch kind {
        case .startToken: tokenField.requireString()
        case .updateToken:
            tokenField.requireString()
            activityField.requireString()
        case .state:
            stateField.requireString()
            activityField.requireString()
        case .unregister: typeField.requireString()
        case .reconcile: _ = runningField.array(countMax: .max)
        case .tap: activityField.requireString()
        case .heartbeat, .profile, .erase, .deadToken, .provenToken, .tokenTakenOver: break
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
        // Reports a text that is no entry.
        if record["entry"].isString { _ = record["entry"].registryEntry() }
    }
}

extension Report.TokenProof {
    fileprivate init(from record: JSONObject) {
        self.init(tokenHash: record["tokenHash"].name(), entry: record["entry"].registryEntry() ?? .profile)
    }
}

extension JSONValue {
    /// Reads a kind. The common kinds are compared as bytes, which is faster. An unknown kind is reported with
    /// the names of all kinds.
    fileprivate func reportKind() -> Report.Kind? {
        if isText("startToken") { return .startToken }
        if isText("updateToken") { return .updateToken }
        if isText("state") { return .state }
        if isText("profile") { return .profile }
        if isText("heartbeat") { return .heartbeat }
        return choice(of: Report.Kind.self)
    }

    /// Reads an entry of the registry. Returns nil and reports a text that is no entry.
    fileprivate func registryEntry() -> RegistryKey.Entry? {
        let entry = RegistryKey.Entry(text: string())
        if isString, entry == nil { report("must be an entry of the registry: start:…, update:… or profile") }
        return entry
    }

    /// Reads a state. The common states are compared as bytes, which is faster.
    func reportState() -> Report.ActivityState? {
        if isText("active") { return .active }
        if isText("ended") { return .ended }
        if isText("dismissed") { return .dismissed }
        return choice(of: Report.ActivityState.self)
    }

    /// Reads a push token in hexadecimal, or a sealed one.
    fileprivate func pushToken() -> String {
        guard let digits = unsafe utf8IfString() else { return "" }
        // Records of the topic may hold a sealed token. The gateway accepts no sealed token from clients.
        if unsafe !PushToken.isValid(hex: digits), unsafe !TokenSeal.isSealed(digits) {
            report(PushToken.formatProblem)
        }
        return unsafe string(from: digits)
    }

    /// Checks attributes that the caller reads in place, with the same reports as `profileAttributes`.
    package func checkProfileAttributes() { _ = profileAttributes() }

    /// Reads a JSON object within the limits of attributes, as raw JSON.
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
