internal import CatalogRecords
package import Identifiers
public import RecordFormat

/// The merged reports about one installation, or about one user from a backend: a record of `installations`.
/// It is the source of truth. The rows of `registry` are a view of it.
@usableFromInline package struct Installation: JSONRecord, Hashable {
    /// In version 2, a stored `ReportTime` may also have an order and a claimed time. A reader of version 1
    /// rejects these.
    package static let schemaVersion = 2

    /// The maximum number of activity types with a start token. Beyond it, the least recently reported type
    /// is forgotten.
    package static let startTokensMax = 50
    /// The maximum number of these types that the app has not declared. Anyone with a report key can invent
    /// type names.
    package static let undeclaredTypesMax = 16
    /// The maximum number of activities, including recently ended ones. Beyond it, the least recently
    /// reported activity is forgotten.
    package static let activitiesMax = 50
    /// The maximum number of stored refusals of tokens. Beyond it, the oldest refusal is forgotten.
    package static let refusedTokensMax = 16
    /// The maximum number of stored taps. Beyond it, the oldest tap is forgotten, and no tap up to its time
    /// is published.
    package static let tapsMax = 16
    /// The maximum number of recipients that the installation left within a day. Beyond it, the rows under
    /// the oldest one are deleted at once.
    package static let formerRecipientsMax = 8

    package let app: String
    /// The installation or the user that the record is about. A user's record has only a profile.
    package let subject: Recipient
    /// An array of exactly one element, for copy-on-write. The facts are large and are passed on far more
    /// often than they are changed. An array is copied only if one of two holders changes it.
    @usableFromInline var fields: [Fields]

    package init(app: String, subject: Recipient) {
        self.app = app
        self.subject = subject
        fields = [Fields()]
    }

    /// The key, for example `rides/i:PHONE-1`. The reports about the subject have the same key.
    package var key: [UInt8] { RecordKey.join(app, subject.text) }

    /// The recipient whose sends reach the installation: its user, or the installation itself.
    package var recipient: Recipient { user?.value ?? subject }

    /// A push token as it is stored.
    package struct Token: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var hash: String
        /// The token as `TokenSeal.seal` stores it, or nil once the token has no use. The other fields stay,
        /// so that an older token cannot replace this one.
        package var sealed: Maybe<String>
        package var environment: Environment
        package var at: ReportTime
        /// Whether APNs has not accepted the token yet, as far as is known. It is false for a token that was
        /// stored before this was recorded.
        package var isUnproven: Bool
        /// Whether another installation has reported the token later. Then `sealed` is nil.
        package var isTakenOver = false

        package init(
            hash: String, sealed: String?, environment: Environment, at: ReportTime, isUnproven: Bool = false
        ) {
            self.hash = hash
            self.sealed = sealed
            self.environment = environment
            self.at = at
            self.isUnproven = isUnproven
        }
    }

    /// The push-to-start token of one activity type.
    @usableFromInline package struct StartToken: Sendable, Hashable {
        /// The activity type, or nil if the token serves every type of the app.
        package var type: Maybe<String>
        package var token: Maybe<Token>
        /// The time of the newest request to start no more activities of the type. A token that is reported
        /// later is used again.
        package var unregisteredAt: Maybe<ReportTime>

        package init(type: String?, token: Token? = nil, unregisteredAt: ReportTime? = nil) {
            self.type = type
            self.token = token
            self.unregisteredAt = unregisteredAt
        }
    }

    /// One activity, running or recently ended. The system assigns its id.
    @usableFromInline package struct Activity: Sendable, Hashable {
        package var id: String
        package var type: Maybe<Timestamped<String>>
        package var group: Maybe<Timestamped<String>>
        package var channel: Maybe<Timestamped<String>>
        package var token: Maybe<Token>
        package var state: Maybe<Timestamped<Report.ActivityState>>
        /// The time of the newest sign that the activity runs.
        package var lastSeenAt: Maybe<ReportTime>
        /// Whether no report about the activity arrived within its token's lifetime. A late report can revive
        /// it.
        package var isExpired: Bool
        /// The lifetime of its token in milliseconds, as in its registry row. The app's setting may have
        /// changed since.
        package var tokenLifetimeMilliseconds: Int64
        package var closing: Maybe<Closing>

        package init(id: String) {
            self.id = id
            (type, group, channel, token, state) = (nil, nil, nil, nil, nil)
            (lastSeenAt, isExpired, closing) = (nil, false, nil)
            tokenLifetimeMilliseconds = ActivityType.updateTokenMillisecondsDefault
        }
    }

    /// The end of an activity: the first report that it ended, and the first report that it left the screen.
    /// An end is final, because the system never reuses an id.
    package struct Closing: Sendable, Hashable {
        /// The maximum time between end and dismissal for which the dismissal counts as the person's. A swipe
        /// causes both reports, in either order. The system removes ended activities itself, within hours.
        package static let swipeMillisecondsMax: Int64 = 60_000

        package var endedAt: Maybe<ReportTime>
        package var dismissedAt: Maybe<ReportTime>

        package init(endedAt: ReportTime? = nil, dismissedAt: ReportTime? = nil) {
            self.endedAt = endedAt
            self.dismissedAt = dismissedAt
        }

        /// The time at which the person swiped the activity away, or nil.
        package var dismissedByPersonAt: ReportTime? {
            guard let dismissedAt else { return nil }
            if let endedAt, dismissedAt.event - endedAt.event > Self.swipeMillisecondsMax { return nil }
            return dismissedAt
        }
    }

    /// A tap that was already published. The same tap is not published twice.
    @usableFromInline package struct Tap: Sendable, Hashable {
        /// The time by the phone's clock, within bounds.
        package var at: Int64
        /// The report's own id, if it has one.
        package var id: Maybe<String>

        package init(at: Int64, id: String?) {
            self.at = at
            self.id = id
        }

        /// Whether both are the same tap. Without ids, two taps within one millisecond count as the same.
        package func isSame(as other: Tap) -> Bool {
            id == nil && other.id == nil ? at == other.at : id.isExactlyEqual(to: other.id)
        }
    }

    /// A refusal of a token by APNs. It does not apply if the server received the token's newest report after
    /// `at`.
    @usableFromInline package struct RefusedToken: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var hash: String
        /// Milliseconds since 1970.
        package var at: Int64

        package init(hash: String, at: Int64) {
            self.hash = hash
            self.at = at
        }
    }

    /// A recipient that the installation has left. The installation's rows stay in this recipient's lane
    /// until `rowsKeptUntil`. All times are milliseconds since 1970 by the server's clock.
    @usableFromInline package struct FormerRecipient: Sendable, Hashable {
        package var recipient: Recipient
        /// The time at which the installation came to this recipient, or nil if this was its first recipient.
        package var joinedAt: Int64?
        /// The time at which the installation left this recipient.
        package var at: Int64
        package var rowsKeptUntil: Int64

        package init(recipient: Recipient, joinedAt: Int64?, at: Int64, rowsKeptUntil: Int64) {
            self.recipient = recipient
            self.joinedAt = joinedAt
            self.at = at
            self.rowsKeptUntil = rowsKeptUntil
        }
    }
}
