package import JSON

/// What happened on an installation: a record of `events`, for people's questions and your own consumers.
package struct Event: Record, Hashable {
    package static let schemaVersion = 1

    package enum Code: String, Sendable, CaseIterable {
        /// A push-to-start token that was not known.
        case startToken = "n:lst"
        /// An update token that was not known.
        case updateToken = "n:lut"
        /// An activity is over; `cause` says by whom.
        case closed = "n:lac"
        /// Tags, attributes, language or the user changed.
        case profile
        case tap
    }

    package enum Cause: String, Sendable, CaseIterable {
        case ended
        /// The person swiped it away.
        case dismissed
        case unregistered
        /// The phone said which activities run, and it was not among them.
        case notRunning
    }

    package var code: Code
    package var app: String
    package var environment: Environment?
    /// Nil where a backend told something about a user.
    package var installation: String?
    package var user: String?
    package var attributesType: String?
    /// The system's id of the activity.
    package var activity: String?
    package var group: String?
    package var tokenHash: String?
    package var cause: Cause?
    package var scheduleID: String?
    package var scheduleName: String?
    /// Milliseconds since 1970: by the phone's clock within bounds, and by the server's.
    package var eventTime: Int64
    package var receivedAt: Int64

    package init(_ code: Code, app: String, eventTime: Int64, receivedAt: Int64) {
        self.code = code
        self.app = app
        self.eventTime = eventTime
        self.receivedAt = receivedAt
    }

    /// As the report's: everything about one installation is in one partition, in order.
    package var key: [UInt8] {
        RecordKey.join(app, (installation.map(Recipient.installation) ?? .user(user ?? "")).text)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("app", app)
        writer.field("environment", environment?.rawValue)
        writer.field("installationId", installation)
        writer.field("userId", user)
        writer.field("attributesType", attributesType)
        writer.field("activityId", activity)
        writer.field("groupId", group)
        writer.field("tokenHash", tokenHash)
        writer.field("cause", cause?.rawValue)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
        writer.field("eventTime", eventTime)
        writer.field("receivedAt", receivedAt)
    }

    package init(from record: JSONObject) {
        self.init(
            record["code"].choice(of: Code.self) ?? .tap, app: record["app"].appID(),
            eventTime: record["eventTime"].time(), receivedAt: record["receivedAt"].time())
        environment = record["environment"].optional?.environment()
        installation = record["installationId"].optional?.name()
        user = record["userId"].optional?.name()
        attributesType = record["attributesType"].optional?.name()
        activity = record["activityId"].optional?.name()
        group = record["groupId"].optional?.name()
        tokenHash = record["tokenHash"].optional?.name()
        cause = record["cause"].optional?.choice(of: Cause.self)
        scheduleID = record["scheduleId"].optional?.name()
        scheduleName = record["scheduleName"].optional?.name()
    }
}
