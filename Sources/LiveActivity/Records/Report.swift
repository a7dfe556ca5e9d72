package import JSON

/// What an SDK tells about one installation: a record of `reports`, and the body of `POST /v1/reports`.
package struct Report: Record, Hashable {
    package static let schemaVersion = 1

    package enum Kind: String, Sendable, CaseIterable {
        /// The push-to-start token of an activity type; without a type it serves every type of the app.
        case startToken
        /// The token of one running activity; replaces its previous one.
        case updateToken
        /// An activity changed its state.
        case state
        /// The installation wants no more activities of the type.
        case unregister
        /// Still alive.
        case heartbeat
        /// These activities are running, and no others.
        case reconcile
        /// Tags, attributes, login, logout.
        case profile
        /// The person touched the activity.
        case tap
    }

    package enum State: String, Sendable, CaseIterable {
        case active
        case pending
        case stale
        case ended
        case dismissed
    }

    package static let tagsMax = 100
    package static let runningMax = 50
    /// Bytes of a profile's attributes.
    package static let attributesBytesMax = 16 * 1024

    package var app: String
    package var environment: Environment
    package var installation: String
    package var kind: Kind
    package var user: String?
    package var attributesType: String?
    package var activity: String?
    package var group: String?
    /// As it was sent; the stage that merges reports says what is wrong with it.
    package var token: String?
    package var state: State?
    package var channel: String?
    /// Of `reconcile`: the ids of the activities that run.
    package var running: [String]?
    package var os: String?
    package var appBuild: String?
    package var frequentPushesEnabled: Bool?
    package var activitiesEnabled: Bool?
    package var tags: [String]?
    package var attributes: RawJSON?
    package var locale: String?
    package var timeZone: String?
    /// Milliseconds since 1970 by the phone's clock: a hint.
    package var eventTime: Int64?
    package var id: String?

    package init(app: String, environment: Environment, installation: String, kind: Kind) {
        self.app = app
        self.environment = environment
        self.installation = installation
        self.kind = kind
    }

    package var key: [UInt8] { RecordKey.join(app, Recipient.installation(installation).text) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("environment", environment.rawValue)
        writer.field("installationId", installation)
        writer.field("userId", user)
        writer.field("kind", kind.rawValue)
        writer.field("attributesType", attributesType)
        writer.field("activityId", activity)
        writer.field("groupId", group)
        writer.field("token", token)
        writer.field("state", state?.rawValue)
        writer.field("channelId", channel)
        writer.field("running", running)
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
    }

    package init(from record: JSONObject) { self.init(app: record["app"].appID(), from: record) }

    /// A report whose app is known from elsewhere: the key that it came with, which a body must not overrule.
    package init(app: String, from record: JSONObject) {
        self.init(
            app: app, environment: record["environment"].environment(),
            installation: record["installationId"].name(),
            kind: record["kind"].choice(of: Kind.self) ?? .heartbeat)
        user = record["userId"].optional?.name()
        attributesType = record["attributesType"].optional?.name()
        activity = record["activityId"].optional?.name()
        group = record["groupId"].optional?.name()
        token = record["token"].optional?.pushToken()
        state = record["state"].optional?.choice(of: State.self)
        channel = record["channelId"].optional?.name()
        running = record["running"].optional?.names(countMax: Report.runningMax)
        os = record["os"].optional?.name()
        appBuild = record["appBuild"].optional?.name()
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.bool()
        activitiesEnabled = record["activitiesEnabled"].optional?.bool()
        tags = record["tags"].optional?.names(countMax: Report.tagsMax)
        attributes = record["attributes"].optional?.profileAttributes()
        locale = record["locale"].optional?.name()
        timeZone = record["timeZone"].optional?.name()
        eventTime = record["eventTime"].optional?.time()
        id = record["reportId"].optional?.name()
        requireParts(of: record)
    }

    /// What a kind cannot do without.
    private func requireParts(of record: JSONObject) {
        switch kind {
        case .startToken: _ = record["token"].string()
        case .updateToken:
            _ = record["token"].string()
            _ = record["activityId"].string()
        case .state:
            _ = record["state"].string()
            _ = record["activityId"].string()
        case .unregister: _ = record["attributesType"].string()
        case .reconcile: _ = record["running"].array(countMax: .max)
        case .tap: _ = record["activityId"].string()
        case .heartbeat, .profile: break
        }
    }
}

extension JSONValue {
    fileprivate func pushToken() -> String {
        let text = string()
        if kind == .string, PushToken(hex: text) == nil { report(PushToken.problem) }
        return text
    }

    func profileAttributes() -> RawJSON {
        if kind != .object { _ = object() }
        let value = rawJSON()
        if value.count > Report.attributesBytesMax {
            report("must have at most \(Report.attributesBytesMax) bytes", as: .outOfRange)
        }
        return value
    }
}
