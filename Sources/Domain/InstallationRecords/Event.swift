package import Identifiers
package import JSON
package import RecordFormat

/// A published fact about an installation, for example a new token or an ended activity: a record of
/// `events`, for queries by people and for external consumers.
package struct Event: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The kinds of events. The names that begin with `n:` are those of Netmera's events.
    package enum Code: String, Sendable, CaseIterable {
        /// A push-to-start token was reported for the first time.
        case startToken = "n:lst"
        /// An update token was reported for the first time.
        case updateToken = "n:lut"
        /// An activity is over. `cause` names the reason.
        case closed = "n:lac"
        /// Tags, attributes, language or the user changed.
        case profile
        /// The person touched an activity.
        case tap
    }

    /// The reason why an activity is over.
    package enum Cause: String, Sendable, CaseIterable {
        /// The phone reported its end.
        case ended
        /// The person swiped the activity away.
        case dismissed
        /// The installation unregistered the activity's type.
        case unregistered
        /// The phone listed its running activities, and this one was missing.
        case notRunning
    }

    // A `Maybe` is an optional that an initializer sets only once.

    package var code: Code
    package var app: String
    package var environment: Maybe<Environment>
    /// Nil for an event that a backend caused for a user.
    package var installation: Maybe<String>
    package var user: Maybe<String>
    package var attributesType: Maybe<String>
    /// The activity's id, as the system assigned it.
    package var activity: Maybe<String>
    package var group: Maybe<String>
    /// The hash of the token (`TokenSeal.hash`), in hexadecimal.
    package var tokenHash: Maybe<String>
    package var cause: Maybe<Cause>
    /// For `tap`: the send behind the newest push to the touched activity.
    package var sendID: Maybe<String>
    /// For `tap`: the schedule behind that send.
    package var scheduleID: Maybe<String>
    package var scheduleName: Maybe<String>
    /// Milliseconds since 1970 by the phone's clock, within the bounds of `ReportTime`.
    package var eventTime: Int64
    /// Milliseconds since 1970 by the server's clock.
    package var receivedAt: Int64

    /// Sets all fields in one step. An event that is changed field by field would be copied each time.
    package init(
        _ code: Code, app: String, environment: Environment? = nil, installation: String? = nil,
        user: String? = nil, attributesType: String? = nil, activity: String? = nil, group: String? = nil,
        tokenHash: String? = nil, cause: Cause? = nil, sendID: String? = nil, scheduleID: String? = nil,
        scheduleName: String? = nil, eventTime: Int64, receivedAt: Int64
    ) {
        self.code = code
        self.app = app
        self.environment = environment
        self.installation = installation
        self.user = user
        self.attributesType = attributesType
        self.activity = activity
        self.group = group
        self.tokenHash = tokenHash
        self.cause = cause
        self.sendID = sendID
        self.scheduleID = scheduleID
        self.scheduleName = scheduleName
        self.eventTime = eventTime
        self.receivedAt = receivedAt
    }

    /// The partition key, for example `rides/u:anna`: the app, and the user or else the installation.
    ///
    /// It equals the recipient's partition key in the registry, so that a person's taps and the sends to that
    /// person lie in the same lane.
    package var key: [UInt8] {
        var bytes: [UInt8] = []
        writeKey(to: &bytes)
        return bytes
    }

    /// Writes the key into a reused buffer.
    package func writeKey(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        RecordKey.append(user.map(Recipient.user) ?? .installation(installation ?? ""), to: &bytes)
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
        writer.field("sendId", sendID)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
        writer.field("eventTime", eventTime)
        writer.field("receivedAt", receivedAt)
    }

    package init(from record: JSONObject) {
        // The reader refuses a record with a missing or unknown code, so the replacement is never seen.
        self.init(
            record["code"].choice(of: Code.self) ?? .tap, app: record["app"].appID(),
            environment: record["environment"].optional?.environment(),
            installation: record["installationId"].optional?.name(), user: record["userId"].optional?.name(),
            attributesType: record["attributesType"].optional?.name(),
            activity: record["activityId"].optional?.name(), group: record["groupId"].optional?.name(),
            tokenHash: record["tokenHash"].optional?.name(),
            cause: record["cause"].optional?.choice(of: Cause.self),
            sendID: record["sendId"].optional?.name(), scheduleID: record["scheduleId"].optional?.name(),
            scheduleName: record["scheduleName"].optional?.name(),
            eventTime: record["eventTime"].timeMilliseconds(),
            receivedAt: record["receivedAt"].timeMilliseconds())
    }
}
