/// What is told about one installation, or by a backend about one user: a record of `reports`, and the
/// body of `POST /v1/reports`.
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
        /// APNs refused a token for good. Written by the senders, never taken from outside.
        case deadToken

        /// Whether an SDK may say this.
        package var isFromOutside: Bool { self != .deadToken }
    }

    package enum State: String, Sendable, CaseIterable {
        case active
        case pending
        case stale
        case ended
        case dismissed

        /// Whether the activity is over: its id never comes back.
        package var isFinal: Bool { self == .ended || self == .dismissed }
    }

    package static let tagsMax = 100
    package static let runningMax = 50
    /// Bytes of a profile's attributes.
    package static let attributesBytesMax = 16 * 1024
    /// Arrays and objects inside one another in them. Every record that holds them has room for more.
    package static let attributesDepthMax = 8

    /// The header of a report that lay in a wrong partition and was forwarded: the server's time of where
    /// it lay first, in digits. The cluster stamps what is forwarded anew, and by that time alone an old
    /// word would stand over newer ones.
    package static let receivedAtHeader: StaticString = "flotilla-received-at"

    package var app: String
    /// Nil in a backend's profile of a user.
    package var environment: Environment?
    /// Nil in a backend's profile of a user, which holds for all the user's installations.
    package var installation: String?
    package var kind: Kind
    package var user: String?
    /// The phone says that nobody is logged in: `"userId": null`. Without the field it says nothing.
    package var isLoggedOut = false
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
    /// Of `tap`: the schedule behind what was touched.
    package var scheduleID: String?
    package var scheduleName: String?
    /// Of `deadToken`: which token was refused, and why.
    package var refusal: Refusal?

    /// What APNs said of a token. Times are milliseconds since 1970.
    package struct Refusal: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var tokenHash: String
        /// The registry entry that the push was for.
        package var entry: String
        package var reason: String
        /// Since when the token is dead, by APNs; not every refusal says it.
        package var invalidatedAt: Int64?
        package var dispatchedAt: Int64

        package init(
            tokenHash: String, entry: String, reason: String, invalidatedAt: Int64?, dispatchedAt: Int64
        ) {
            self.tokenHash = tokenHash
            self.entry = entry
            self.reason = reason
            self.invalidatedAt = invalidatedAt
            self.dispatchedAt = dispatchedAt
        }
    }

    package init(app: String, environment: Environment, installation: String, kind: Kind) {
        self.app = app
        self.environment = environment
        self.installation = installation
        self.kind = kind
    }

    /// A backend's profile of a user.
    package init(app: String, profileOf user: String) {
        self.app = app
        self.user = user
        kind = .profile
    }

    /// Whose record it changes.
    package var subject: Recipient {
        if let installation { .installation(installation) } else { .user(user ?? "") }
    }

    package var key: [UInt8] {
        var bytes: [UInt8] = []
        writeKey(to: &bytes)
        return bytes
    }

    /// Into a buffer that is used again.
    package func writeKey(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        RecordKey.append(subject, to: &bytes)
    }
}
